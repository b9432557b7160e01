"""LeNet-5 in plain NumPy, float64: what the kernels should compute, said another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]
Weights = Mapping[str, Array]


def conv5x5(x: Array, weight: Array, bias: Array) -> Array:
    """Valid cross-correlation, stride 1: x (n, c, h, w), weight (o, c, 5, 5), bias (o,) -> (n, o, h-4, w-4)."""
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    out: Array = np.einsum("nchwyx,ocyx->nohw", windows, weight, optimize=True) + bias[:, None, None]
    return out


def max_pool2x2(x: Array) -> Array:
    """Largest of every 2 x 2 block: (n, c, h, w) -> (n, c, h/2, w/2)."""
    n, c, h, w = x.shape
    out: Array = x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    return out


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def softmax(logits: Array) -> Array:
    """Row-wise: (n, classes) -> (n, classes), rows sum to 1."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    out: Array = weights / weights.sum(axis=1, keepdims=True)
    return out


def forward(weights: Weights, images: Array) -> Array:
    """Class probabilities (n, 10), float64, of images (n, 1, 32, 32)."""
    w: dict[str, Array] = {name: value.astype(np.float64) for name, value in weights.items()}
    x: Array = images.astype(np.float64)
    for layer in ("conv1", "conv2"):
        x = max_pool2x2(relu(conv5x5(x, w[f"{layer}.weight"], w[f"{layer}.bias"])))
    x = x.reshape(len(x), -1)
    for layer in ("fc1", "fc2"):
        x = relu(x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"])
    return softmax(x @ w["fc3.weight"].T + w["fc3.bias"])
