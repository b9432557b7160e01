"""The demo's data: trained weights, a batch of handwritten digits, and how a digit becomes the network's input."""

from __future__ import annotations

from importlib import resources

import numpy as np
import numpy.typing as npt

from .reference import Array

SIDE = 8  # pixels of a stored digit, values 0..16
_DRAWN, _INPUT = 28, 32  # a digit is enlarged to 28 x 28 and centred in the 32 x 32 that LeNet-5 reads


def load_weights() -> dict[str, npt.NDArray[np.float32]]:
    """Weights by layer ("conv1.weight" (6, 1, 5, 5), "fc3.bias" (10,), ...), float32. Stored as float16, which they were rounded to."""
    with resources.files(__package__).joinpath("data/weights.npz").open("rb") as file, np.load(file) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def load_digits() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Digits that training did not see: images (n, 8, 8) of 0..16, and the digit (n,) each shows."""
    with resources.files(__package__).joinpath("data/digits.npz").open("rb") as file, np.load(file) as stored:
        return stored["images"], stored["labels"]


def network_input(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """(n, 8, 8) of 0..16 -> (n, 1, 32, 32) of 0..1: bilinear enlargement, then a margin of 2."""
    enlarge = _bilinear(_DRAWN, SIDE)
    drawn = enlarge @ (images.astype(np.float64) / 16) @ enlarge.T
    margin = (_INPUT - _DRAWN) // 2
    return np.pad(drawn, ((0, 0), (margin, margin), (margin, margin)))[:, None].astype(np.float32)


def _bilinear(target: int, source: int) -> Array:
    """Matrix (target, source) that interpolates linearly between pixel centres and holds the value beyond the outermost ones."""
    centre = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
    weights: Array = np.maximum(0, 1 - np.abs(centre[:, None] - np.arange(source)))
    return weights
