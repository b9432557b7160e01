"""Keys of the memory side: load/store unit, shared memory, L1, constant caches, crossbar, L2, DRAM. What they mean together:
docs/model/memory.md."""

from __future__ import annotations

from .schema import Key, Section

_REPLACEMENT = ("lru", "fifo", "random")

SECTIONS = (
    Section(
        "lsu",
        "Load/store unit of an SM: the memory-input queues of its sub-cores and the pipe they share",
        (
            Key("queue_depth", "int", "accesses", "Accesses of a sub-core that wait to be dispatched", 1, 1024),
            Key("subcore_interval", "int", "cycles", "Between two wavefronts of one sub-core; the SM dispatches one a cycle", 1, 64),
            Key("store_credits", "int", "1", "Stores and atomics (lines) of an SM on their way to L2", 1, 1 << 16),
            Key("atomic_sector_cycles", "float", "cycles", "An atomic holds the pipe this long per sector", 0, 64),
            Key("atomic_pass_cycles", "float", "cycles", "and at least this long for each lane on the same word", 0, 64),
        ),
    ),
    Section(
        "shared",
        "Shared memory: 32 banks of 4 bytes",
        (
            Key("latency", "int", "cycles", "Load without conflict, issue to issue of a dependent instruction", 1, 1000),
            Key("atomic_latency", "int", "cycles", "Atomic without conflict", 1, 1000),
            Key(
                "carveouts",
                "ints",
                "bytes",
                "Sizes of shared memory that the SM's storage can be split at, ascending; L1 gets the rest",
                0,
                1 << 24,
            ),
        ),
    ),
    Section(
        "l1",
        "L1 data cache of an SM: 128-byte lines, 32-byte sectors",
        (
            Key("bytes", "int", "bytes", "Storage that L1 and shared memory share", 1024, 1 << 24),
            Key("ways", "int", "1", "Lines of a set", 1, 64),
            Key("replacement", "str", "", "Which line of a set gives way", choices=_REPLACEMENT),
            Key("mshrs", "int", "lines", "Lines that L1 waits for at a time", 1, 1 << 16),
            Key("store_miss", "str", "", "Whether a global store that misses leaves its bytes in L1", choices=("allocate", "no_allocate")),
            Key("tags_per_cycle", "int", "lines", "Lines of one access looked up in a cycle", 1, 32),
            Key("latency", "int", "cycles", "Hit, issue to issue of a dependent instruction", 1, 1000),
            Key("miss_latency", "int", "cycles", "From dispatch until a request leaves the SM", 0, 1000),
            Key("fill_latency", "int", "cycles", "From the arrival of data until a dependent instruction issues", 0, 1000),
        ),
    ),
    Section(
        "const",
        "Indexed constant loads",
        (
            Key("first_lines", "int", "lines", "Lines of the first level, fully associative", 1, 4096),
            Key("first_line_bytes", "int", "bytes", "Size of such a line: 32, 64 or 128", 32, 128),
            Key("second_bytes", "int", "bytes", "Second level", 1024, 1 << 24),
            Key("second_ways", "int", "1", "Lines of a set of the second level", 1, 64),
            Key("mshrs", "int", "lines", "Lines that the second level waits for at a time", 1, 4096),
            Key("latency", "int", "cycles", "First-level hit", 1, 1000),
            Key("second_latency", "int", "cycles", "Second-level hit", 1, 1000),
            Key("miss_latency", "int", "cycles", "From dispatch until a request leaves the SM", 0, 1000),
        ),
    ),
    Section(
        "noc",
        "Crossbar between SMs and L2",
        (
            Key("sm_out_bytes", "float", "bytes/cycle", "Towards L2, an SM's port", 0.1, 4096),
            Key("sm_in_bytes", "float", "bytes/cycle", "From L2, an SM's port", 0.1, 4096),
            Key("gpc_out_bytes", "float", "bytes/cycle", "Towards L2, a GPC's port", 0.1, 1 << 16),
            Key("gpc_in_bytes", "float", "bytes/cycle", "From L2, a GPC's port", 0.1, 1 << 16),
            Key("header_bytes", "int", "bytes", "Of a message towards L2, on top of its payload", 0, 128),
            Key("request_latency", "float", "cycles", "SM to slice", 0, 10_000),
            Key("response_latency", "float", "cycles", "Slice to SM", 0, 10_000),
            Key(
                "coalescer",
                "str",
                "",
                "SMs whose loads of one line are merged while one is out",
                choices=("none", "tpc", "gpc", "partition", "gpu"),
            ),
        ),
    ),
    Section(
        "l2",
        "L2 cache: slices in partitions; clocks are of l2.clock_mhz",
        (
            Key("clock_mhz", "float", "MHz", "Clock of the slices", 1, 10_000),
            Key("bytes", "int", "bytes", "Capacity of all slices", 1024, 1 << 34),
            Key("partitions", "int", "1", "Parts of L2, each close to a part of the GPCs and of the DRAM channels", 1, 64),
            Key("slices", "int", "1", "Slices, over all partitions; a multiple of partitions", 1, 4096),
            Key("ways", "int", "1", "Lines of a set", 1, 64),
            Key("replacement", "str", "", "Which line of a set gives way", choices=_REPLACEMENT),
            Key("hash", "str", "", "How addresses spread over partitions, slices, channels and banks", choices=("rotate", "modulo")),
            Key(
                "interleave_bytes", "int", "bytes", "Neighbouring bytes that share a slice and a DRAM row; a multiple of 128", 128, 1 << 20
            ),
            Key("slice_read_bytes", "float", "bytes/clock", "Data port of a slice when it reads", 1, 4096),
            Key("slice_write_bytes", "float", "bytes/clock", "and when it writes whole sectors", 1, 4096),
            Key("partial_write_clocks", "float", "clocks", "The data port's time for a write of parts of sectors", 0, 64),
            Key("tag_latency", "float", "clocks", "Until a miss is known and leaves the slice", 0, 10_000),
            Key("hit_latency", "float", "clocks", "Until the data of a hit leaves the slice", 0, 10_000),
            Key("copy_latency", "float", "clocks", "On top, for a line whose home is another partition", 0, 10_000),
            Key("atomic_latency", "float", "clocks", "On top of a hit, for an atomic", 0, 10_000),
            Key("link_latency", "float", "clocks", "From one partition to another, one way", 0, 10_000),
            Key("link_bytes", "float", "bytes/clock", "Payload out of a partition towards the others", 1, 1 << 16),
        ),
    ),
    Section(
        "dram",
        "DRAM. Timings are in clocks of dram.clock_mhz, between commands for one 64-byte access, under their JESD238 names",
        (
            Key("clock_mhz", "float", "MHz", "Command clock", 1, 10_000),
            Key("channels", "int", "1", "Channels", 1, 4096),
            Key("pseudo_channels", "int", "1", "Pseudo channels of a channel; their product is a multiple of l2.partitions", 1, 8),
            Key("bank_groups", "int", "1", "Bank groups of a pseudo channel", 1, 64),
            Key("banks_per_group", "int", "1", "Banks of a group; at most 64 banks in all", 1, 64),
            Key("rows", "int", "1", "Rows of a bank", 1, 1 << 20),
            Key("scheduler", "str", "", "Which request of a bank goes first", choices=("frfcfs", "fcfs")),
            Key("queue_entries", "int", "1", "Read queue and write queue of a pseudo channel, each", 1, 4096),
            Key("write_high", "int", "1", "Writes that make the channel turn to writing", 1, 4096),
            Key("write_low", "int", "1", "Writes at which it turns back, when reads wait", 0, 4096),
            Key("page_policy", "str", "", "Whether a row stays open when nobody waits for it", choices=("open", "closed")),
            Key("refresh", "str", "", "One bank after the other, or all at once", choices=("per_bank", "all_bank")),
            *(
                Key(name, "float", "clocks", doc, 0, 1e6)
                for name, doc in (
                    ("tBURST", "Data bus time of an access"),
                    ("tCL", "Read to first data"),
                    ("tCWL", "Write to first data"),
                    ("tRCDRD", "Activate to read"),
                    ("tRCDWR", "Activate to write"),
                    ("tRP", "Precharge to activate"),
                    ("tRAS", "Activate to precharge"),
                    ("tRC", "Activate to activate, one bank"),
                    ("tCCD_S", "Column to column command, different bank groups"),
                    ("tCCD_L", "Column to column command, same bank group"),
                    ("tRRD_S", "Activate to activate, different bank groups"),
                    ("tRRD_L", "Activate to activate, same bank group"),
                    ("tFAW", "Window of at most four activates"),
                    ("tWTR_S", "End of write data to read, different bank groups"),
                    ("tWTR_L", "End of write data to read, same bank group"),
                    ("tRTP", "Read to precharge"),
                    ("tWR", "End of write data to precharge"),
                    ("tRTW", "Read to write"),
                    ("tREFI", "Time in which every bank is refreshed once"),
                    ("tRFC", "A bank's (all_bank: the channel's) refresh"),
                )
            ),
            Key("request_ns", "float", "ns", "From a slice's miss to the channel's queue", 0, 10_000),
            Key("return_ns", "float", "ns", "From the end of the data burst to the slice", 0, 10_000),
        ),
    ),
)
