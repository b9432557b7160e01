"""Builder.runtime: both builders call the same function of the core, with the same lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpsight.engine.handlers import HandlerKey
from warpsight.lanes.types import LANES, U32
from warpsight.semantics import Form, Kind

from .bench import ROW, Bench


def test_a_runtime_function_gets_constants_and_lanes() -> None:
    form = Form("test.add", Kind.MEMORY, (U32,), (U32,), lambda b, s: b.runtime("ws_test_add_constant", [-3], s, [U32]))
    lanes = np.arange(LANES, dtype=np.uint32)

    def setup(regs: Any) -> None:
        regs[:] = 0
        regs[ROW : ROW + 4 * LANES] = lanes.view(np.uint8)

    bench, key = Bench(), HandlerKey(form.name, ("r32",), ("r32",))
    outcomes = [bench.run(form, key, [0, ROW], 0xFFFF, setup, compiled) for compiled in (True, False)]
    assert outcomes[0] == outcomes[1]
    found = np.frombuffer(outcomes[0].regs, np.uint32, LANES)
    assert found.tolist() == [(int(x) - 3) % 2**32 if x < 16 else 0 for x in lanes]
