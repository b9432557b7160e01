"""Every error that warpsight raises on purpose, in one place.

An error says what went wrong, where (file, line, kernel, instruction, thread, address) and what to do about it. The command line turns
`exit_code` into the process's exit status, so that a script can tell a bad input from a kernel that went wrong.
"""

from __future__ import annotations


class WarpsightError(Exception):
    """Base of all errors raised on purpose. `exit_code` is the command line's status for it."""

    exit_code = 1


class InputError(WarpsightError):
    """The user's input (file, argument, option) is wrong."""

    exit_code = 2


class PtxSyntaxError(InputError):
    """PTX text that the grammar does not allow. `str()` shows file:line:column, the line and a caret.

    `line` and `column` count from 1.
    """

    def __init__(self, message: str, file: str, line: int, column: int, text: str) -> None:
        self.message, self.file, self.line, self.column, self.text = message, file, line, column, text
        caret = " " * (column - 1) + "^"
        super().__init__(f"{file}:{line}:{column}: {message}\n  {text}\n  {caret}")


class LoadError(InputError):
    """A file that is no module we can load (missing, truncated, binary of an unknown kind)."""


class TruncatedPtxError(PtxSyntaxError, LoadError):
    """PTX text that ends in the middle of something."""


class KernelNotFound(InputError):
    """The module has no kernel of that name; the message lists the nearest ones."""


class LaunchError(InputError):
    """A launch that the GPU would refuse: wrong arguments, block too large, too much shared memory."""


class ConfigError(InputError):
    """A GPU model file or an override with a bad key or value; names the key and the file."""


class UnsupportedInstruction(WarpsightError):
    """An instruction that warpsight does not execute; names instruction, kernel, PTX line and source line."""

    exit_code = 3

    def __init__(self, instruction: str, kernel: str, where: str, reason: str = "") -> None:
        self.instruction, self.kernel, self.where, self.reason = instruction, kernel, where, reason
        text = f"unsupported instruction '{instruction}' in kernel '{kernel}' at {where}"
        super().__init__(f"{text}: {reason}" if reason else text)


class KernelError(WarpsightError):
    """A kernel that went wrong while it ran. `detail` holds the parts of the message by name."""

    exit_code = 4

    def __init__(self, message: str, detail: dict[str, object] | None = None) -> None:
        self.detail = detail or {}
        super().__init__(message)


class MemoryFault(KernelError):
    """An access outside every live allocation, or misaligned."""


class KernelTimeout(KernelError):
    """A kernel stopped by its instruction or time budget; the message says where its warps are."""


class DeadlockError(KernelError):
    """No warp of the grid can go on; the message says what waits for what."""


class TrapError(KernelError):
    """The kernel executed trap or brkpt."""


class Interrupted(WarpsightError):
    """Ctrl-C in the middle of a run."""

    exit_code = 130
