"""The demo's NumPy network and data, against loops and hand-worked cases."""

from __future__ import annotations

import numpy as np
import pytest

from tools.train_lenet import gradients, initial
from warpsight.demo.digits import load_digits, load_weights, network_input
from warpsight.demo.reference import conv5x5, forward, max_pool2x2, softmax


def test_convolution_is_the_sum_over_the_window() -> None:
    random = np.random.default_rng(1)
    x, weight, bias = random.random((2, 3, 7, 6)), random.random((4, 3, 5, 5)), random.random(4)
    out = conv5x5(x, weight, bias)
    assert out.shape == (2, 4, 3, 2)
    for n, o, y, column in np.ndindex(out.shape):
        assert out[n, o, y, column] == pytest.approx(bias[o] + (x[n, :, y : y + 5, column : column + 5] * weight[o]).sum())


def test_pool_takes_the_largest_of_four() -> None:
    x = np.array([[[[1.0, 2, 5, 0], [3, 4, -1, 0], [-9, -8, 7, 7], [-7, -6, 7, 7]]]])
    assert max_pool2x2(x).tolist() == [[[[4, 5], [-6, 7]]]]


def test_softmax_of_logarithms_is_the_ratio() -> None:
    assert softmax(np.log([[1.0, 2, 5]]) + 1000) == pytest.approx(np.array([[0.125, 0.25, 0.625]]))


def test_input_has_a_margin_and_keeps_a_flat_image_flat() -> None:
    image = network_input(np.full((1, 8, 8), 16, np.uint8))
    assert image.shape == (1, 1, 32, 32)
    assert (image[0, 0, 2:30, 2:30] == 1).all()
    assert image.sum() == 28 * 28


def test_input_interpolates_between_pixel_centres() -> None:
    """Source pixels are 3.5 wide: the centres of output pixels 5 and 8 lie between those of source pixels 1 and 2."""
    image = np.zeros((1, 8, 8), np.uint8)
    image[0, :, 2] = 16
    row = network_input(image)[0, 0, 16, 2:30]
    assert row[5] == pytest.approx((5.5 * 8 / 28 - 0.5) - 1)
    assert row[8] == pytest.approx((8.5 * 8 / 28 - 0.5) - 1)


def test_trained_network_reads_the_shipped_digits() -> None:
    images, labels = load_digits()
    assert len(images) >= 20
    right = forward(load_weights(), network_input(images)).argmax(axis=1) == labels
    assert right.mean() > 0.95  # chance is 0.1


def test_training_follows_the_gradient() -> None:
    """Back-propagation against the difference quotient of the loss, one weight of each layer."""
    random = np.random.default_rng(3)
    parameters = {name: value.astype(np.float64) for name, value in initial(random).items()}
    x, labels = random.random((3, 1, 32, 32)), np.array([1, 7, 4])
    _, grads = gradients(parameters, x, labels)  # type: ignore[arg-type]  # float64 for the quotient's sake
    for name, value in parameters.items():
        at = np.unravel_index(np.abs(grads[name]).argmax(), value.shape)
        step, kept = 1e-6, value[at]
        losses = []
        for moved in (kept + step, kept - step):
            value[at] = moved
            losses.append(gradients(parameters, x, labels)[0])  # type: ignore[arg-type]
        value[at] = kept
        assert grads[name][at] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4)
