"""What a validation found, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from ..report.tables import quantity
from .compare import Accuracy, accuracy
from .run import CaseReport, LaunchReport

# What a launch is compared in: title, and the counters whose sums are compared.
COMPARED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cycles", ("sm__cycles_elapsed.max",)),
    ("warp inst", ("smsp__inst_executed.sum",)),
    ("L1 sectors", ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")),
    (
        "L2 sectors",
        ("lts__t_sectors_srcunit_tex.sum",),
    ),  # those that SMs ask for; lts__t_sectors.sum counts traffic between the partitions too
    ("DRAM bytes", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
)


def simulated(launch: LaunchReport, counters: Sequence[str]) -> float | None:
    """The sum of some counters of a simulated launch; None if one is missing."""
    values = [_own(launch).get(name) for name in counters]
    return sum(float(v) for v in values if v is not None) if None not in values else None


def measured(launch: LaunchReport, counters: Sequence[str]) -> float | None:
    values = [launch.measured.get(name) for name in counters]
    return sum(v for v in values if v is not None) if None not in values else None


def _own(launch: LaunchReport) -> dict[str, float]:
    """A result's figures by counter name, those with a field of their own included."""
    result = launch.result
    own: dict[str, float] = dict(result.counters)
    if result.cycles is not None:
        own |= {"sm__cycles_elapsed.max": result.cycles, "smsp__inst_executed.sum": result.warp_instructions}
    return own


def cycles_accuracy(cases: Sequence[CaseReport]) -> Accuracy:
    """Over the launches that have both simulated and measured cycles. Wrong results count as little as missing ones."""
    pairs = [
        (launch.result.cycles, measured(launch, COMPARED[0][1])) for case in cases if case.status == "pass" for launch in case.launches
    ]
    known = [(s, m) for s, m in pairs if s and m]
    return accuracy([s for s, _ in known], [m for _, m in known])


def summary(cases: Sequence[CaseReport]) -> dict[str, Any]:
    """The JSON object that ends the command's output. Errors are fractions; what does not apply is null."""
    found = cycles_accuracy(cases)
    status = [case.status for case in cases]
    return {
        "launches": sum(len(case.launches) for case in cases),
        "functional_pass": status.count("pass"),
        "functional_fail": status.count("fail"),
        "unsupported": status.count("unsupported"),
        "mape_cycles": found.mape,
        "pearson_log_cycles": found.pearson,
    }


def detail(cases: Sequence[CaseReport]) -> dict[str, Any]:
    """Everything, for --json FILE."""
    found = cycles_accuracy(cases)
    rows = []
    for case in cases:
        launches = [
            {
                "launch": launch.index,
                "compared": {
                    title: {"simulated": simulated(launch, names), "measured": measured(launch, names)} for title, names in COMPARED
                },
                "measured": dict(launch.measured),
                "result": launch.result.to_dict(),
            }
            for launch in case.launches
        ]
        outputs = [asdict(check) for check in case.outputs]
        rows.append(
            {
                "case": case.name,
                "status": case.status,
                "why": case.why,
                "bits_equal": case.bits_equal,
                "outputs": outputs,
                "launches": launches,
            }
        )
    return {**summary(cases), "geometric_mean_ratio": found.ratio, "cases": rows}


def case_row(case: CaseReport) -> str:
    """One line on a case's results."""
    if case.status == "unsupported":
        return f"{case.name}: {case.why}"
    bits = (
        "bits equal"
        if case.bits_equal
        else f"within tolerance, error {max(check.error for check in case.outputs):.1e}"
        if case.outputs
        else ""
    )
    if case.status == "fail":
        return f"{case.name}: FAIL: {case.why}"
    return f"{case.name}: pass, {bits}{f' ({case.why})' if case.why else ''}"


def launches_table(cases: Sequence[CaseReport]) -> Table:
    """Per launch: simulated and measured figures with the error of the first as a share of the second."""
    table = Table(title="Simulated / measured, cold caches", title_justify="left")
    table.add_column("launch")
    for title, _ in COMPARED:
        table.add_column(title, justify="right")
    for case in cases:
        for launch in case.launches:
            cells = [_cell(simulated(launch, names), measured(launch, names)) for _, names in COMPARED]
            name = f"{case.name} #{launch.index} {launch.result.kernel}" if len(case.launches) > 1 else case.name
            table.add_row(name, *cells)
    return table


def closing_lines(cases: Sequence[CaseReport]) -> list[str]:
    counts: Mapping[str, Any] = summary(cases)
    equal = sum(case.status == "pass" and case.bits_equal for case in cases)
    verdicts = (
        f"{counts['functional_pass']} pass ({equal} bit for bit), {counts['functional_fail']} fail, {counts['unsupported']} unsupported"
    )
    lines = [f"{len(cases)} cases, {counts['launches']} launches: {verdicts}"]
    found = cycles_accuracy(cases)
    if found.mape is not None and found.ratio is not None:
        pearson = "-" if found.pearson is None else f"{found.pearson:.4f}"
        lines.append(
            f"cycles: MAPE {found.mape:.1%}, geometric mean of simulated/measured {found.ratio:.3f}, Pearson of log cycles {pearson}"
        )
    return lines


def _cell(simulated: float | None, measured: float | None) -> str:
    if simulated is None:
        return "-"
    if measured is None:
        return quantity(simulated)
    error = f"{(simulated - measured) / measured:+.0%}" if measured else "=" if simulated == measured else "new"
    return f"{quantity(simulated)} / {quantity(measured)} {error}"
