"""`warpsight validate` on a small reference set made here: NumPy plays the hardware."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.api.kernels import SAXPY, entry
from warpsight.cli.main import main

N = 512
OUT = ".param .u64 out"


def output(values: np.ndarray[Any, Any], tolerance: float = 0.0) -> dict[str, Any]:
    doubles = values.astype(np.float64)
    moments = {
        "sum": doubles.sum(),
        "abs_sum": abs(doubles).sum(),
        "sq_sum": (doubles**2).sum(),
        "min": doubles.min(),
        "max": doubles.max(),
    }
    samples = [[i, doubles[i]] for i in range(0, len(values), 17)]
    digest = hashlib.sha256(values.tobytes()).hexdigest()
    return {"sha256": digest, "exact": not tolerance, "tolerance_rel_l2": tolerance, "nonfinite": 0, "samples": samples, **moments}


def case(name: str, outputs: dict[str, Any], launches: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    buffers = {"x": {"kind": "iota", "n": N, "dtype": "f32"}, "y": {"kind": "const", "value": -7777, "n": N, "dtype": "f32"}}
    base = {"name": name, "ptx": "saxpy.ptx", "buffers": buffers, "module_globals": {}, "bit_repeatable_on_hw": True}
    return {**base, "outputs": outputs, "launches": launches, **more}


def saxpy(a: float, src: str = "x", dst: str = "y") -> dict[str, Any]:
    params = [["buf", src], ["buf", dst], ["f32", a], ["i32", N]]
    return {"kernel": "saxpy", "grid": [2, 1, 1], "block": [256, 1, 1], "smem": 0, "params": params}


def single(kernel: str, params: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"kernel": kernel, "grid": [1, 1, 1], "block": [32, 1, 1], "smem": 0, "params": params}]


X = np.arange(N, dtype=np.float32)
ONCE = (X * np.float32(2) - 7777).astype(np.float32)
GOOD = case("good", {"y": output(ONCE)}, [saxpy(2.0)])


@pytest.fixture
def write(tmp_path: Path) -> Any:
    (tmp_path / "saxpy.ptx").write_text(SAXPY)

    def write(*cases: dict[str, Any], **files: str) -> str:
        (tmp_path / "cases.json").write_text(json.dumps(cases))
        for name, text in files.items():
            (tmp_path / name.replace("_ptx", ".ptx")).write_text(text)
        return str(tmp_path)

    return write


def validate(folder: str, capsys: Any, *options: str, status: int = 0) -> tuple[str, dict[str, Any]]:
    assert main(["validate", folder, "--gpu", "mini", "--functional", *options]) == status
    text = capsys.readouterr().out
    return text, json.loads(text.splitlines()[-1])


def test_a_right_result_passes_and_the_last_line_is_json(write: Any, capsys: Any) -> None:
    text, summary = validate(write(GOOD), capsys)
    assert "good: pass, bits equal" in text
    expected = {
        "launches": 1,
        "functional_pass": 1,
        "functional_fail": 0,
        "unsupported": 0,
        "mape_cycles": None,
        "pearson_log_cycles": None,
    }
    assert summary == expected and list(summary) == list(expected)


def test_launches_run_in_order_on_the_same_memory(write: Any, capsys: Any) -> None:
    """y += 2x, then x += y: neither order nor memory may be mixed up."""
    second = (X + ONCE).astype(np.float32)
    chain = case("chain", {"y": output(ONCE), "x": output(second)}, [saxpy(2.0), saxpy(1.0, "y", "x")])
    _, summary = validate(write(chain), capsys)
    assert summary["launches"] == 2 and summary["functional_pass"] == 1


def test_wrong_results_fail_with_status_1(write: Any, capsys: Any) -> None:
    wrong = ONCE.copy()
    wrong[3] += 1
    text, summary = validate(write(GOOD, case("wrong", {"y": output(wrong)}, [saxpy(2.0)])), capsys, status=1)
    assert "wrong: FAIL: output 'y': bits differ" in text and summary["functional_fail"] == 1 and summary["functional_pass"] == 1


def test_other_bits_within_the_tolerance_need_a_reason(write: Any, capsys: Any) -> None:
    near = np.nextafter(ONCE, np.float32(np.inf))
    close = case("close", {"y": output(near, 1e-5)}, [saxpy(2.0)])
    varying = {**close, "name": "varying", "bit_repeatable_on_hw": False}
    approximate = {**close, "name": "approximate", "ptx": "approximate.ptx"}
    folder = write(close, varying, approximate, approximate_ptx=SAXPY.replace("DONE:", "ex2.approx.f32 %f1, %f1;\nDONE:"))
    text, summary = validate(folder, capsys, status=1)
    assert "close: FAIL" in text and "every instruction's result is fixed" in text
    assert "varying: pass, within tolerance" in text and "approximate: ex2.approx.f32" in text
    assert summary["functional_pass"] == 2 and summary["functional_fail"] == 1


def test_module_variables_are_filled_from_buffers(write: Any, capsys: Any) -> None:
    body = "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, table; add.s64 %d2, %d2, %d1; ld.const.f32 %f1, [%d2];"
    body += "ld.param.u64 %d3, [out]; add.s64 %d3, %d3, %d1; st.global.f32 [%d3], %f1;"
    copy = case(
        "copy", {"y": output(np.arange(32, dtype=np.float32))}, single("k", [["buf", "y"]]), ptx="copy.ptx", module_globals={"table": "x"}
    )
    copy["buffers"] = {name: {**recipe, "n": 32} for name, recipe in copy["buffers"].items()}
    _, summary = validate(write(copy, copy_ptx=entry(OUT, body, before=".const .f32 table[32];")), capsys)
    assert summary["functional_pass"] == 1


def test_unsupported_instructions_and_arguments_are_named(write: Any, capsys: Any) -> None:
    missing = case("missing", {}, single("k", []), ptx="missing.ptx")
    texture = case("texture", {}, [{**saxpy(1.0), "params": [["tex", "x"]]}])
    text, summary = validate(write(missing, texture, missing_ptx=entry("", "frobnicate.u32 %r1;")), capsys)
    assert "missing: unsupported instruction 'frobnicate.u32'" in text and "texture: unsupported: texture objects" in text
    assert summary["unsupported"] == 2 and summary["launches"] == 0


def test_a_kernel_that_goes_wrong_fails_its_case_only(write: Any, capsys: Any) -> None:
    trap = case("trap", {}, single("k", []), ptx="trap.ptx")
    text, summary = validate(write(trap, GOOD, trap_ptx=entry("", "trap;")), capsys, status=1)
    assert "trap: FAIL: TrapError" in text and summary["functional_pass"] == 1


def test_wrong_digests_of_inputs_fail(write: Any, capsys: Any) -> None:
    wrong = {**GOOD, "buffers": {**GOOD["buffers"], "x": {"kind": "iota", "n": N, "dtype": "f32", "initial_sha256": "00"}}}
    text, _ = validate(write(wrong), capsys, status=1)
    assert "buffer 'x'" in text and "SHA-256" in text


def test_only_and_json_file(write: Any, capsys: Any, tmp_path: Path) -> None:
    folder = write(GOOD, {**GOOD, "name": "other"})
    file = tmp_path / "report.json"
    _, summary = validate(folder, capsys, "--only", "^oth", "--json", str(file))
    assert summary["launches"] == 1
    detail = json.loads(file.read_text())
    assert [c["case"] for c in detail["cases"]] == ["other"] and detail["cases"][0]["outputs"][0]["bits_equal"] is True
    assert main(["validate", folder, "--only", "none"]) == 2
    assert main(["validate", folder, "--only", "("]) == 2


def test_ctrl_c_prints_what_there_is(write: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from warpsight.validate import run

    first = run.run_case

    def interrupted(case: Any, *rest: Any) -> Any:
        if case.name == "later":
            raise KeyboardInterrupt
        return first(case, *rest)

    monkeypatch.setattr(run, "run_case", interrupted)
    text, summary = validate(write(GOOD, {**GOOD, "name": "later"}), capsys, status=130)
    assert "good: pass" in text and summary["functional_pass"] == 1


@pytest.mark.parametrize(("text", "words"), [(None, "cannot read"), ("{", "not valid JSON"), ('[{"name": "x"}]', "not in the format")])
def test_a_folder_that_is_no_reference_set(tmp_path: Path, capsys: Any, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "cases.json").write_text(text)
    assert main(["validate", str(tmp_path), "--gpu", "mini"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_the_hardware_set_functionally(capsys: Any) -> None:
    """No wrong result in the whole set that WARPSIGHT_HW names."""
    folder = os.environ.get("WARPSIGHT_HW")
    if not folder:
        pytest.skip("WARPSIGHT_HW does not name a hardware reference set")
    assert main(["validate", str(Path(folder) / "kernels"), "--functional"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["functional_fail"] == 0 and summary["functional_pass"] >= 50
