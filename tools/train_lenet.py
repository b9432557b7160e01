"""Trains the demo's LeNet-5 on the handwritten digits that scikit-learn ships and writes src/warpsight/demo/data.

Usage: python tools/train_lenet.py   (needs scikit-learn, in the train extra). NumPy only, about a minute.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpsight.demo.digits import network_input
from warpsight.demo.reference import forward

DATA = Path(__file__).resolve().parent.parent / "src/warpsight/demo/data"
SHAPES = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5), "fc1": (120, 400), "fc2": (84, 120), "fc3": (10, 84)}
EPOCHS, BATCH, RATE, SEED = 40, 64, 2e-3, 1
TEST, SHOWN = 360, 32  # digits kept from training, and how many of those the demo ships
Array = npt.NDArray[np.float32]
Parameters = dict[str, Array]


def initial(rng: np.random.Generator) -> Parameters:
    """He initialisation."""
    out: Parameters = {}
    for layer, shape in SHAPES.items():
        fan_in = int(np.prod(shape[1:]))
        out[f"{layer}.weight"] = rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        out[f"{layer}.bias"] = np.zeros(shape[0], np.float32)
    return out


def patches(x: Array) -> Array:
    """(n, c, h, w) -> (n, h-4, w-4, c*25): what each output pixel of a 5 x 5 convolution reads."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (5, 5), axis=(2, 3))
    n, c, h, w = windows.shape[:4]
    out: Array = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 25)
    return out


def gradients(p: Parameters, x: Array, labels: npt.NDArray[np.integer]) -> tuple[float, Parameters]:
    """Mean cross-entropy of a batch and its gradient for every parameter, by back-propagation."""
    convolutions, dense = [], []
    for layer in ("conv1", "conv2"):
        columns = patches(x)
        weight, bias = p[f"{layer}.weight"], p[f"{layer}.bias"]
        out = np.maximum((columns @ weight.reshape(len(bias), -1).T + bias).transpose(0, 3, 1, 2), 0)
        n, c, h, w = out.shape
        pooled = out.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
        convolutions.append((layer, columns, out, pooled))
        x = pooled
    spatial = x.shape
    x = x.reshape(len(x), -1)
    for layer in ("fc1", "fc2", "fc3"):
        dense.append((layer, x))
        x = x @ p[f"{layer}.weight"].T + p[f"{layer}.bias"]
        if layer != "fc3":
            x = np.maximum(x, 0)
    shifted = x - x.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    loss = float(-log_p[rows, labels].mean())

    grads: Parameters = {}
    d = np.exp(log_p)
    d[rows, labels] -= 1
    d /= len(labels)
    for layer, inputs in reversed(dense):
        grads[f"{layer}.weight"], grads[f"{layer}.bias"] = d.T @ inputs, d.sum(axis=0)
        d = d @ p[f"{layer}.weight"]
        if layer != "fc1":
            d *= inputs > 0
    d = d.reshape(spatial)
    for layer, columns, out, pooled in reversed(convolutions):
        spread = np.repeat(np.repeat(d, 2, axis=2), 2, axis=3)
        winner = out == np.repeat(np.repeat(pooled, 2, axis=2), 2, axis=3)
        d_out = spread * winner * (out > 0)
        flat = d_out.transpose(0, 2, 3, 1).reshape(-1, d_out.shape[1])
        grads[f"{layer}.weight"] = (flat.T @ columns.reshape(len(flat), -1)).reshape(p[f"{layer}.weight"].shape)
        grads[f"{layer}.bias"] = flat.sum(axis=0)
        if layer != "conv1":
            flipped = p[f"{layer}.weight"][:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
            around = np.pad(d_out, ((0, 0), (0, 0), (4, 4), (4, 4)))
            d = (patches(around) @ flipped.reshape(len(flipped), -1).T).transpose(0, 3, 1, 2)
    return loss, grads


def jitter(x: Array, rng: np.random.Generator) -> Array:
    """Moves each image by up to 2 pixels each way."""
    moves = rng.integers(-2, 3, (len(x), 2))
    return np.stack([np.roll(image, tuple(move), axis=(1, 2)) for image, move in zip(x, moves, strict=True)])


def train(x: Array, labels: npt.NDArray[np.integer], rng: np.random.Generator) -> Parameters:
    """Adam with a cosine schedule."""
    p = initial(rng)
    first = {name: np.zeros_like(value) for name, value in p.items()}
    second = {name: np.zeros_like(value) for name, value in p.items()}
    step, steps = 0, EPOCHS * (len(x) // BATCH)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            loss, grads = gradients(p, jitter(x[chosen], rng), labels[chosen])
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, gradient in grads.items():
                first[name] += 0.1 * (gradient - first[name])
                second[name] += 0.001 * (gradient**2 - second[name])
                p[name] -= (rate * (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)).astype(np.float32)
        print(f"epoch {epoch + 1}: loss {loss:.4f}", file=sys.stderr)
    return p


def main() -> None:
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(SEED)
    digits = load_digits()
    images, labels = digits.images.astype(np.uint8), digits.target
    order = rng.permutation(len(images))
    test, training = order[:TEST], order[TEST:]
    weights = {name: value.astype(np.float16) for name, value in train(network_input(images[training]), labels[training], rng).items()}
    right = forward(weights, network_input(images[test])).argmax(axis=1) == labels[test]
    print(f"right on {right.mean():.1%} of {TEST} digits kept from training")
    DATA.mkdir(exist_ok=True)
    np.savez_compressed(DATA / "weights.npz", **weights)  # type: ignore[arg-type]  # the stub takes the names for its own option
    np.savez_compressed(DATA / "digits.npz", images=images[test[:SHOWN]], labels=labels[test[:SHOWN]].astype(np.uint8))


if __name__ == "__main__":
    main()
