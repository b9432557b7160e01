"""Times the compilation of handlers for every instruction of the demo's kernels. Prints {"handlers", "seconds"}.

Set WARPSIGHT_CACHE to an empty folder, or what is timed is reading the cache.
"""

from __future__ import annotations

import json
import time
from importlib import resources

from warpsight.engine.handlers import Handlers, handler_key
from warpsight.isa.ir import Instruction
from warpsight.isa.ptx import PtxModule
from warpsight.semantics import resolve


def main() -> None:
    module = PtxModule.from_text(resources.files("warpsight.demo").joinpath("kernels/lenet.ptx").read_text())
    instructions = [item for name in module.kernel_names for item in module.kernel(name).body if isinstance(item, Instruction)]
    wanted = {}
    for instruction in instructions:
        found = resolve(instruction)
        if found.form.emit is not None:
            wanted[handler_key(found.form, found.dst, found.src)] = found.form
    start = time.perf_counter()
    Handlers().compile(wanted.items())
    print(json.dumps({"handlers": len(wanted), "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
