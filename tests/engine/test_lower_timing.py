"""Timing entries: every form has one, of classes that the GPU files hold; some against sums that hardware measurements give."""

from __future__ import annotations

import pytest

from warpsight.isa.ptx.timing import all_entries, classes, entry_for
from warpsight.model.files import GpuModel, load_gpu
from warpsight.semantics import Form, Kind, forms


@pytest.fixture(params=["h200", "mini"])
def gpu(request: pytest.FixtureRequest) -> GpuModel:
    return load_gpu(request.param)


def entry_of(form: Form) -> str:
    opcode, *modifiers = form.name.partition(":")[0].split(".")
    return entry_for(opcode, tuple(modifiers), form)


def test_every_form_has_an_entry_of_known_classes(gpu: GpuModel) -> None:
    known = set(gpu.names("op"))
    for form in forms():
        entry = entry_of(form)
        assert set(classes(entry)) <= known, f"{form.name}: {entry}"
        if form.kind == Kind.MEMORY and form.memory is not None and form.memory.space not in ("param", "const"):
            assert gpu[f"pipe.{gpu[f'op.{classes(entry)[-1]}.pipe']}.memory"], f"{form.name} ends in {entry}"


def test_tables_hold_known_classes(gpu: GpuModel) -> None:
    assert {c for entry in all_entries() for c in classes(entry)} <= set(gpu.names("op"))


# Cycles of a step of a dependent chain and its instructions, measured on the H200 (one warp, 256 steps).
CHAINS = {
    "fma.rn.f32": (4.0, 1),
    "mul.lo.s32": (4.0, 1),
    "mul.hi.u32": (9.0, 1),
    "popc.b32": (17.0, 1),
    "clz.b32": (23.0, 2),
    "add.f64": (8.0, 1),
    "sin.approx.f32": (23.0, 2),
    "shfl.sync.bfly.b32": (24.0, 1),
    "min.s32": (4.0, 1),
    "xor.b32": (4.0, 1),
}


@pytest.mark.parametrize("spelling", CHAINS)
def test_latency_of_a_chain(spelling: str) -> None:
    """Latencies of the steps, and a cycle for each change of pipe, add up to what was measured."""
    cycles, count = CHAINS[spelling]
    gpu = load_gpu("h200")
    form = next(f for f in forms() if f.name.startswith(spelling + ":"))
    names = classes(entry_of(form))
    pipes = [gpu[f"op.{name}.pipe"] for name in names]
    changes = sum(a != b for a, b in zip(pipes, pipes[1:] + pipes[:1]))
    total = sum(gpu.integer(f"op.{name}.latency") for name in names) + changes * gpu.integer("issue.cross_pipe_cycles")
    assert len(names) == count
    assert abs(total - cycles) <= 0.5
