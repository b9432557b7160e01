"""Digits as text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .digits import network_input

_RAMP = np.array(list(" .:-=+*#%@"))
_ROWS, _COLUMNS = 7, 14  # of a drawn digit; a character is twice as high as wide


def drawn(image: npt.NDArray[np.uint8]) -> list[str]:
    """A digit (8, 8) of 0..16 as 7 lines of 14 characters."""
    shade = network_input(image[None])[0, 0, 2:30, 2:30].reshape(_ROWS, 4, _COLUMNS, 2).mean(axis=(1, 3))
    return ["".join(line) for line in _RAMP[np.rint(shade * (len(_RAMP) - 1)).astype(int)]]


def gallery(images: npt.NDArray[np.uint8], captions: list[str], width: int) -> str:
    """Digits side by side, as many as `width` characters hold, each above its caption."""
    each = max(_COLUMNS, *map(len, captions)) + 2
    across = max(1, width // each)
    blocks = [[*drawn(image), caption] for image, caption in zip(images, captions, strict=True)]
    rows = (blocks[i : i + across] for i in range(0, len(blocks), across))
    return "\n\n".join("\n".join("".join(line.ljust(each) for line in lines).rstrip() for lines in zip(*row, strict=True)) for row in rows)


def caption(says: int, probability: float, truth: int) -> str:
    return f"{says} {probability:6.1%} " + ("ok" if says == truth else f"is {truth}!")
