"""Handlers compiled for a host without AVX, FMA or F16C give the same results: nothing depends on the instruction set."""

from __future__ import annotations

import platform
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.lanes import bench as bench_module
from tests.lanes import test_builders_agree as agree
from tests.lanes.bench import Bench, natural_key
from warpsight import _core
from warpsight.engine.handlers import Handlers
from warpsight.engine.object_cache import ObjectCache
from warpsight.lanes.jit import Jit

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names x86's baseline")
NAMES = {"add.s32", "mul.hi.s64", "div.s32", "rem.u64", "bfe.s32", "prmt.b32", "popc.b64", "setp.lt.u64", "shfl.sync.idx.b32",
         "vote.sync.ballot.b32", "add.f16x2", "add.rn.f16x2", "fma.rn.f32", "fma.rn.f16", "add.rz.f32", "cvt.rn.f16.f32",
         "ld.global.v4.f32", "atom.global.add.u32",
         "match.any.sync.b32", "redux.sync.add.s32"}  # fmt: skip


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handlers]:
    jit = Jit(_core.runtime_symbols(), cpu="x86-64", features={"sse2": True})
    table = Handlers(jit, ObjectCache(jit.fingerprint, tmp_path))
    monkeypatch.setattr(bench_module, "handlers", lambda: table)
    yield table


def test_baseline(baseline: Handlers) -> None:
    bench = Bench()
    chosen = [f for f in agree.FORMS if f.name.partition(":")[0] in NAMES]
    assert len(chosen) >= len(NAMES) - 2  # f16x2 addition has one of two spellings
    for form in chosen:
        rng = np.random.default_rng(zlib.crc32(form.name.encode()))
        for mask in agree.MASKS[:2]:
            agree.check(bench, form, natural_key(form), rng, mask)
