"""From PTX text to `weft.ptx.syntax`."""

from weft.ptx.reader.module import read_module

__all__ = ["read_module"]
