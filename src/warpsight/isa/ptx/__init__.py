"""The PTX front end: text to `isa.ir`."""

from .module import PtxModule

__all__ = ["PtxModule"]
