"""LeNet-5 on a simulated GPU, layer by layer, through warpsight's public API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import warpsight as ws

_TAP, _WARP, _CTA = 5, 32, 256  # filter side, lanes, threads a CTA
CLASSES = 10


class Step(NamedTuple):
    """A layer that has run: its name and the launch's result."""

    layer: str
    result: ws.LaunchResult


STEPS = 8  # launches of one inference


class LeNet:
    """The network with its weights on `device`. Weights as `digits.load_weights` gives them."""

    def __init__(self, device: ws.Device, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
        self._device = device
        self._module = device.load(resources.files(__package__).joinpath("kernels/lenet.ptx").read_text())
        self._weights = {name: device.array(value) for name, value in weights.items()}
        self.probabilities: ws.DeviceArray | None = None

    def run(self, images: npt.NDArray[np.float32]) -> Iterator[Step]:
        """Runs images (n, 1, 32, 32), one step a launch; afterwards `probabilities` holds (n, 10)."""
        n = len(images)
        x = self._device.array(images)
        for layer in ("conv1", "conv2"):
            x, step = self._convolve(layer, x)
            yield step
            x, step = self._pool(layer, x)
            yield step
        for layer in ("fc1", "fc2", "fc3"):
            x, step = self._connect(layer, x, n)
            yield step
        out = self._device.empty((n, CLASSES), np.float32)
        grid = -(-n * _WARP // _CTA)
        yield Step("softmax", self._module["softmax"].launch(grid, _CTA, [x, out, np.int32(n), np.int32(CLASSES)]))
        self.probabilities = out

    def _convolve(self, layer: str, x: ws.DeviceArray) -> tuple[ws.DeviceArray, Step]:
        weight, bias = self._weights[f"{layer}.weight"], self._weights[f"{layer}.bias"]
        n, channels, height, width = x.shape
        filters = weight.shape[0]
        out = self._device.empty((n, filters, height - _TAP + 1, width - _TAP + 1), np.float32)
        arguments = [x, weight, bias, out, np.int32(channels), np.int32(height), np.int32(width)]
        shared = 4 * channels * (height * width + _TAP * _TAP)
        return out, Step(layer, self._module["conv5x5_relu"].launch((filters, n), _CTA, arguments, shared=shared))

    def _pool(self, layer: str, x: ws.DeviceArray) -> tuple[ws.DeviceArray, Step]:
        n, channels, height, _ = x.shape
        size = height // 2
        out = self._device.empty((n, channels, size, size), np.float32)
        grid = -(-n * channels * size * size // _CTA)
        result = self._module["max_pool2x2"].launch(grid, _CTA, [x, out, np.int32(n * channels), np.int32(size)])
        return out, Step(layer.replace("conv", "pool"), result)

    def _connect(self, layer: str, x: ws.DeviceArray, n: int) -> tuple[ws.DeviceArray, Step]:
        weight, bias = self._weights[f"{layer}.weight"], self._weights[f"{layer}.bias"]
        outputs, inputs = weight.shape
        out = self._device.empty((n, outputs), np.float32)
        grid = (-(-outputs * _WARP // _CTA), n)
        arguments = [x, weight, bias, out, np.int32(inputs), np.int32(outputs), np.int32(layer != "fc3")]
        return out, Step(layer, self._module["fully_connected"].launch(grid, _CTA, arguments))
