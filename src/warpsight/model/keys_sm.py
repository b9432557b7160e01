"""Keys of the SM side: components to choose, topology, issue, instruction caches, pipes, barriers, fences, launch (docs/model/sm.md)."""

from __future__ import annotations

from .schema import Key, Section

_MATH = "math_pipe_throttle"
_BUSY = (_MATH, "mio_throttle", "lg_throttle", "tex_throttle")
_RESULT = ("wait", "short_scoreboard", "long_scoreboard")

SECTIONS = (
    Section(
        "core",
        "Which variant of a component the core uses",
        (
            Key("issue_policy", "str", "", "Which warp issues", choices=("cggty", "gto", "lrr", "two_level", "oldest")),
            Key("register_file", "str", "", "ideal: never busy; banked: [regfile]", choices=("ideal", "banked")),
            Key("memory", "str", "", "modelled, or fixed: everything after a fixed time ([fixed])", choices=("modelled", "fixed")),
        ),
    ),
    Section(
        "gpu",
        "Where the SMs are",
        (
            Key("gpc_of_sm", "ints", "1", "GPC of each SM", 0, 1023, length="device.sms"),
            Key("tpc_of_sm", "ints", "1", "TPC of each SM", 0, 4095, length="device.sms"),
        ),
    ),
    Section("sm", "", (Key("subcores", "int", "1", "Sub-cores of an SM, each with a scheduler", 1, 4),)),
    Section(
        "issue",
        "From one instruction of a warp to the next",
        (
            Key("cross_pipe_cycles", "int", "cycles", "A result reaches another fixed-latency pipe this much later than its own", 0, 100),
            Key("guard_cycles", "int", "cycles", "A predicate guards an instruction this much later than it can be an operand", 0, 100),
            Key("memory_read_cycles", "int", "cycles", "A load reads its address registers at most this long after it has issued", 0, 1000),
            Key("buffer_bytes", "int", "bytes", "How far a warp's instruction buffer reads ahead of issue", 0, 1024),
            Key("sleep_cycles", "int", "cycles", "Shortest nanosleep", 0, 100_000),
            Key("two_level_active", "int", "warps", "Active set of the two_level policy", 1, 64),
        ),
    ),
    Section(
        "regfile",
        "Register-file reads of a sub-core, for core.register_file = banked",
        (
            Key("banks", "int", "1", "Banks, by register number", 1, 64),
            Key("ports", "int", "1", "Reads of a bank in a cycle", 1, 16),
            Key("reuse_entries", "int", "1", "Operands that the reuse cache keeps per operand position and bank", 0, 16),
        ),
    ),
    Section(
        "icache",
        "Instruction caches: L0 of a sub-core, L1 and second level of the SM; 128-byte lines",
        (
            Key("l0_bytes", "int", "bytes", "L0 of a sub-core", 128, 1 << 24),
            Key("l0_ways", "int", "1", "Lines of a set", 1, 1024),
            Key("l1_bytes", "int", "bytes", "L1 of the SM", 128, 1 << 24),
            Key("l1_ways", "int", "1", "Lines of a set", 1, 1024),
            Key("l1_latency", "int", "cycles", "L0 miss that L1 has", 1, 1000),
            Key("second_bytes", "int", "bytes", "Second level", 128, 1 << 24),
            Key("second_ways", "int", "1", "Lines of a set", 1, 1024),
            Key("second_latency", "int", "cycles", "What a line of the second level takes longer than one of L1", 1, 10_000),
            Key("miss_latency", "int", "cycles", "From a miss in all levels until the request leaves the SM", 1, 10_000),
            Key("fill_latency", "int", "cycles", "From the arrival of a line until L1 has it", 0, 10_000),
            Key("prefetch_lines", "int", "lines", "How far the stream prefetcher of a sub-core reads ahead", 0, 1024),
        ),
    ),
    Section(
        "pipe",
        "What an instruction issues to",
        (
            Key("units", "strs", "", "Execution units; any that is free takes the instruction, the first of them first"),
            Key("busy", "str", "", "Stall reason of a warp that waits for the pipe", choices=_BUSY),
            Key("result", "str", "", "Stall reason of a warp that waits for a result", choices=_RESULT),
            Key("memory", "bool", "", "Memory instructions hand their access to the load/store unit"),
            Key("shared", "bool", "", "One for the SM, not for each sub-core"),
        ),
        many=True,
    ),
    Section(
        "barrier",
        "bar.sync",
        (
            Key("interval", "int", "cycles", "Between the arrivals of two warps of an SM", 0, 1000),
            Key("latency", "int", "cycles", "From the last arrival until warps issue again", 0, 10_000),
        ),
    ),
    Section(
        "fence",
        "membar and fence: from issue until the warp goes on, when nothing is on its way",
        (
            Key("cta", "int", "cycles", "Scope .cta", 0, 100_000),
            Key("cluster", "int", "cycles", "Scope .cluster", 0, 100_000),
            Key("gpu", "int", "cycles", "Scope .gpu", 0, 100_000),
            Key("sys", "int", "cycles", "Scope .sys", 0, 100_000),
            Key("after_stores", "int", "cycles", "At least this long after the warp's last store has reached L2", 0, 100_000),
        ),
    ),
    Section(
        "launch",
        "Kernel and CTA launch",
        (
            Key("start_cycles", "int", "cycles", "From the start of a kernel until its first CTA runs", 0, 1_000_000),
            Key("end_cycles", "int", "cycles", "From the end of the last CTA until the kernel is over", 0, 1_000_000),
            Key("cta_interval", "float", "cycles", "Between the starts of two CTAs, chip-wide", 0, 10_000),
            Key("first_fetch_cycles", "int", "cycles", "The first warps of a kernel on an SM wait before they fetch", 0, 100_000),
            Key(
                "constant_cycles",
                "int",
                "cycles",
                "The first warps of a kernel on an SM wait for the constant bank of the launch",
                0,
                100_000,
            ),
            Key("restart_cycles", "int", "cycles", "From the end of a CTA until another one runs in its place", 1, 100_000),
            Key("code_resident", "bool", "", "Second-level instruction caches hold the program when a kernel starts, even a cold one"),
            Key("sm_order", "ints", "1", "Order in which SMs are filled", 0, 4095, length="device.sms"),
        ),
    ),
    Section(
        "fixed",
        "Latencies for core.memory = fixed",
        (
            Key("global_latency", "int", "cycles", "Global and local accesses, instruction fetch", 1, 1_000_000),
            Key("shared_latency", "int", "cycles", "Shared memory", 1, 1_000_000),
            Key("const_latency", "int", "cycles", "Constant memory", 1, 1_000_000),
        ),
    ),
)
