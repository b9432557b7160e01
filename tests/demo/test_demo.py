"""The demo as users run it: the kernels agree with NumPy, and a disagreement is told."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

import warpsight as ws
from warpsight import demo
from warpsight.demo.digits import load_digits, load_weights, network_input
from warpsight.demo.lenet import STEPS, LeNet
from warpsight.demo.reference import conv5x5, forward, max_pool2x2, relu


@pytest.mark.parametrize("timing", [False, True], ids=["functional", "timing"])
def test_network_gives_numpys_probabilities(timing: bool) -> None:
    inputs, weights = network_input(load_digits()[0][:3]), load_weights()
    network = LeNet(ws.Device("mini", timing=timing), weights)
    steps = list(network.run(inputs))
    assert [step.layer for step in steps] == ["conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "fc3", "softmax"]
    assert len(steps) == STEPS
    assert network.probabilities is not None
    np.testing.assert_allclose(network.probabilities.numpy(), forward(weights, inputs), atol=demo.TOLERANCE)


def test_first_layer_and_pool_on_sizes_that_fill_no_block() -> None:
    device = ws.Device("mini", timing=False)
    module = device.load(resources.files("warpsight.demo").joinpath("kernels/lenet.ptx").read_text())
    random = np.random.default_rng(4)
    x, weight, bias = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 11, 8), (5, 3, 5, 5), (5,)))
    out = device.array(np.full((2, 5, 7, 4), -7, np.float32))
    arguments = [device.array(x), device.array(weight), device.array(bias), out, np.int32(3), np.int32(11), np.int32(8)]
    module["conv5x5_relu"].launch((5, 2), 64, arguments, shared=4 * 3 * (11 * 8 + 25))
    expected = relu(conv5x5(x.astype(np.float64), weight, bias))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)
    even = np.ascontiguousarray(expected[:, :, :4].astype(np.float32))
    pooled = device.array(np.full((2, 5, 2, 2), -7, np.float32))
    module["max_pool2x2"].launch(1, 64, [device.array(even), pooled, np.int32(10), np.int32(2)])
    np.testing.assert_array_equal(pooled.numpy(), max_pool2x2(even))


def test_json_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main("mini", functional=True, json=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["agrees"] and report["max_abs_error"] < demo.TOLERANCE
    assert [d["truth"] for d in report["digits"]] == load_digits()[1].tolist()
    assert len(report["kernels"]) == STEPS


def test_text_shows_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main("mini", functional=True) == 0
    out = capsys.readouterr().out
    assert out.count("% ok") + out.count("!") == len(load_digits()[1])
    assert "agree" in out and "DISAGREE" not in out


def test_disagreement_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "forward", lambda weights, inputs: forward(weights, inputs) + 0.01)
    assert demo.main("mini", functional=True) == 1
    assert "DISAGREE" in capsys.readouterr().out
