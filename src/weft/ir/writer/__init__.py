"""The writer of LLVM 22 text and of its P-LLVM dialect (see `weft.ir.reader`).

What ``write_module`` returns, ``read_module`` reads back to an equal module. With ``plain=True`` it is text
that LLVM's own parser accepts.
"""

from weft.ir.writer.function import write_function, write_instruction
from weft.ir.writer.module import write_module

__all__ = ["write_function", "write_instruction", "write_module"]
