"""Reading LLVM IR as other compilers write it."""

from __future__ import annotations

import re

from weft.diag.errors import CompileError, IRSyntaxError
from weft.diag.source import SourceSpan
from weft.ir import Module
from weft.ir.reader import read_module
from weft.target.llvm import print_module


def read_foreign(text: str, file: str) -> tuple[Module, str]:
    """Read a module in LLVM's text; return it, and the text that it was read from in the end.

    Text of an older LLVM, or written by hand, is brought into today's form by LLVM itself, if it is right.

    Raises
    ------
    IRSyntaxError, CompileError
        It is no LLVM IR, or holds what weft does not read.
    """
    try:
        return read_module(text, filename=file), text
    except IRSyntaxError:
        try:
            text = print_module(text)
        except CompileError as error:
            raise CompileError(error.message.replace("<string>", file)) from None
        return read_module(text, filename=file), text


def declaration_in(text: str, file: str, name: str) -> SourceSpan | None:
    """Where a function is declared, if LLVM's text is all the source that there is."""
    found = re.search(rf"^declare .*@{re.escape(name)}\(", text, re.M)
    if found is None or "!llvm.dbg.cu" in text:
        return None
    return SourceSpan(file, text.count("\n", 0, found.start()) + 1, text=found[0])
