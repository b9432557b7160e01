"""GPU files: what is read, what is refused and with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsight.errors import ConfigError
from warpsight.model.files import GpuModel, gpu_names, load_gpu
from warpsight.model.schema import Key, Schema, Section, make_schema, schema

RULES = make_schema(
    [
        Section(
            "core",
            "A small section",
            (
                Key("policy", "str", "", "Issue policy", choices=("gto", "lrr")),
                Key("slots", "int", "1", "Warp slots", 1, 64),
                Key("clock", "float", "MHz", "Clock", 1, 5000),
                Key("parts", "ints", "1", "Parts", 1, length=3),
                Key("per_slot", "floats", "1", "One value a slot", length="core.slots"),
                Key("on", "bool", "", "A switch"),
            ),
        ),
        Section("pipe", "Pipes", (Key("width", "int", "lanes", "Lanes", 1, 32),), many=True),
        Section(
            "op",
            "Operations",
            (Key("pipe", "str", "", "Pipe", names_of="pipe"), Key("latency", "float", "cycles", "Latency", 1)),
            many=True,
        ),
    ]
)

GOOD = """\
[core]
policy = "gto"
slots = 2
clock = 1000
parts = [1, 2, 3]
per_slot = [0.5, 1.5]
on = true
source = "chosen"

[pipe]
source = "chosen"
[pipe.alu]
width = 16
[pipe.fma]
width = 32

[op.iadd]
pipe = "alu"
latency = 4
source = "measured: chain"
[op.ffma]
pipe = "fma"
latency = 4.5
sources = { latency = "measured: chain" }
"""


def read(folder: Path, text: str, overrides: object = (), rules: Schema = RULES) -> GpuModel:
    path = folder / "some.toml"
    path.write_text(text)
    return load_gpu(path, overrides, folder=folder, rules=rules)  # type: ignore[arg-type]


def refused(folder: Path, text: str, overrides: object = ()) -> str:
    with pytest.raises(ConfigError) as error:
        read(folder, text, overrides)
    return str(error.value)


def test_values_come_out_typed_with_their_origin(tmp_path: Path) -> None:
    model = read(tmp_path, GOOD)
    assert model["core.slots"] == 2 and model["op.ffma.latency"] == 4.5 and model["core.on"] is True
    assert model.entries["op.ffma.latency"].source == "measured: chain"
    assert model.entries["pipe.alu.width"].source == "chosen", "a source of the parent table serves its entries"
    assert model.entries["core.clock"].line == 4
    assert model.names("op") == ["iadd", "ffma"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("slots = 2", "slotz = 2", ["some.toml:3", "core.slotz", "near: slots"]),
        ("[core]", "[cores]", ["some.toml:1", "cores", "near: core"]),
        ("slots = 2\n", "", ["missing key 'core.slots'"]),
        ('[op.iadd]\npipe = "alu"\n', "[op.iadd]\n", ["missing key 'op.iadd.pipe'"]),
        ("slots = 2", "slots = 2.5", ["some.toml:3", "core.slots", "whole number"]),
        ("slots = 2", "slots = true", ["core.slots", "whole number"]),
        ("slots = 2", "slots = 0", ["core.slots", "at least 1", "got 0"]),
        ("clock = 1000", "clock = 1e9", ["core.clock", "at most 5000 MHz"]),
        ("clock = 1000", "clock = nan", ["core.clock", "finite"]),
        ("parts = [1, 2, 3]", "parts = [1, 2]", ["some.toml:5", "core.parts", "needs 3 values, got 2"]),
        ("parts = [1, 2, 3]", "parts = [1, 2, 0]", ["core.parts", "value 2", "at least 1"]),
        ("per_slot = [0.5, 1.5]", "per_slot = [0.5]", ["some.toml:6", "core.per_slot", "needs 2 values", "core.slots"]),
        ('policy = "gto"', 'policy = "gtp"', ["core.policy", "gto, lrr", "gtp"]),
        ('pipe = "fma"', 'pipe = "fmb"', ["op.ffma.pipe", "alu, fma", "fmb"]),
        ('source = "measured: chain"\n', "", ["some.toml", "op.iadd.latency", "no source"]),
        ('sources = { latency = "measured: chain" }', 'sources = { latencies = "x" }', ["op.ffma.sources", "latencies"]),
        ("latency = 4.5", "latency = [", ["some.toml", "not valid TOML"]),
        ("[pipe.fma]", "[pipe.fma.wide]", ["pipe.fma.wide", "unknown key"]),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in GOOD
    message = refused(tmp_path, GOOD.replace(old, new))
    for word in words:
        assert word in message


def test_overrides_from_texts_and_from_python(tmp_path: Path) -> None:
    texts = ["core.policy=lrr", "core.slots=0x2", "core.parts=4,5,6", "op.ffma.latency=9", "core.on=false"]
    model = read(tmp_path, GOOD, texts)
    assert (model["core.policy"], model["core.parts"], model["op.ffma.latency"], model["core.on"]) == ("lrr", [4, 5, 6], 9.0, False)
    assert read(tmp_path, GOOD, {"core.policy": "lrr", "core.parts": (4, 5, 6)})["core.parts"] == [4, 5, 6]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("core.policy=none", ["core.policy", "gto, lrr"]),
        ("core.slots=two", ["core.slots", "whole number", "two"]),
        ("core.slots", ["section.key=value"]),
        ("core.slot=2", ["core.slot", "near: slots"]),
        ("op.fffma.latency=2", ["op.fffma", "near: op.ffma"]),
        ("op.latency=2", ["op.NAME.key"]),
        ("core.on=yes", ["true or false"]),
        ("core.slots=3", ["core.per_slot", "needs 3 values"]),
    ],
)
def test_a_bad_override_is_refused_by_name(tmp_path: Path, override: str, words: list[str]) -> None:
    message = refused(tmp_path, GOOD, [override])
    for word in words:
        assert word in message


def test_a_variant_inherits_and_keeps_sources(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(GOOD)
    model = read(tmp_path, 'inherits = "base"\n[op.ffma]\nlatency = 6\nsource = "guess of a variant"\n')
    assert model["op.ffma.latency"] == 6 and model["op.ffma.pipe"] == "fma" and model["core.slots"] == 2
    assert model.entries["op.ffma.latency"].source == "guess of a variant"
    assert "base.toml" in model.entries["core.slots"].file


def test_a_file_that_inherits_from_itself_is_refused(tmp_path: Path) -> None:
    assert "inherits from itself" in refused(tmp_path, 'inherits = "some"\n')


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"h200"):
        load_gpu("h20")
    with pytest.raises(ConfigError, match=r"no such file"):
        load_gpu("missing/none.toml")


@pytest.mark.parametrize("name", gpu_names())
def test_bundled_gpus_are_complete_and_every_number_has_a_source(name: str) -> None:
    model = load_gpu(name)
    for key, entry in model.entries.items():
        if schema().key(key).type in ("int", "float", "ints", "floats"):
            assert entry.source.split()[0].rstrip(":") in ("measured", "documented", "inferred", "chosen"), f"{key}: {entry.source}"
    if name != "mini":
        chosen = {key for key, entry in model.entries.items() if entry.source.startswith("chosen")}
        assert chosen <= {"issue.two_level_active"}, "of a policy that the GPU does not have: nobody can measure it"


def test_the_core_gets_flat_values() -> None:
    flat = load_gpu("mini").flat()
    assert flat["device.sms"] == 4 and flat["device.max_grid_dim"] == [2147483647.0, 65535.0, 65535.0]
    assert not any(isinstance(value, bool) for value in flat.values())
