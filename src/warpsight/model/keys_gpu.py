"""Keys of the GPU as a whole: what it is called, its clocks, and the limits that a launch is checked against."""

from __future__ import annotations

from .schema import Key, Section

SECTIONS = (
    Section(
        "device",
        "Identity, clocks and the limits of a launch, as the driver reports them",
        (
            Key("name", "str", "", "Name of the product"),
            Key(
                "compute_capability",
                "str",
                "",
                'As NVIDIA writes it: "9.0"',
                choices=("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"),
            ),
            Key("sms", "int", "1", "Streaming multiprocessors that run CTAs", 1, 4096),
            Key("sm_mhz", "float", "MHz", "Clock of the SMs under load; all cycle counts are of this clock", 1, 10_000),
            Key("memory_bytes", "int", "bytes", "Device memory a program can allocate", 1 << 20, 1 << 42),
            Key("warp_size", "int", "threads", "Threads of a warp", 32, 32),
            Key("max_threads_per_sm", "int", "threads", "Threads resident on an SM", 32, 1 << 16),
            Key("max_ctas_per_sm", "int", "1", "CTAs resident on an SM", 1, 1024),
            Key("max_threads_per_block", "int", "threads", "Threads of a CTA", 32, 1024),
            Key("max_block_dim", "ints", "threads", "Largest block size in x, y, z", 1, 1024, length=3),
            Key("max_grid_dim", "ints", "1", "Largest grid size in x, y, z", 1, (1 << 31) - 1, length=3),
            Key("registers_per_sm", "int", "1", "32-bit registers of an SM", 1024, 1 << 24),
            Key("max_registers_per_block", "int", "1", "32-bit registers of a CTA", 1024, 1 << 24),
            Key("max_registers_per_thread", "int", "1", "32-bit registers of a thread", 16, 255),
            Key("register_allocation_unit", "int", "1", "Registers of a warp are allocated in multiples of this", 32, 4096),
            Key("shared_per_sm", "int", "bytes", "Shared memory of an SM", 1024, 1 << 24),
            Key("shared_per_block", "int", "bytes", "Shared memory of a CTA without opting in", 1024, 1 << 24),
            Key("shared_per_block_optin", "int", "bytes", "Shared memory of a CTA after cuFuncSetAttribute", 1024, 1 << 24),
            Key("shared_allocation_unit", "int", "bytes", "Shared memory of a CTA is allocated in multiples of this", 1, 4096),
            Key("barriers_per_block", "int", "1", "Named barriers of a CTA", 1, 16),
            Key("const_bytes", "int", "bytes", "Constant memory of a module", 1024, 1 << 20),
            Key("max_param_bytes", "int", "bytes", "Kernel parameters", 256, 1 << 16),
            Key("max_local_per_thread", "int", "bytes", "Local memory of a thread", 1024, 1 << 24),
        ),
    ),
    Section(
        "sm",
        "The streaming multiprocessor",
        (Key("reserved_shared", "int", "bytes", "Shared memory at the start of each CTA's window that the system keeps", 0, 1 << 14),),
    ),
)
