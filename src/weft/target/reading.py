"""Reading LLVM IR as other compilers write it.

Text of an older LLVM is brought into today's form by LLVM itself, which knows every form there was: intrinsics that
took other arguments (``llvm.lifetime.start(i64, ptr)``), debug intrinsics, attributes and marks of kernels that are
written otherwise now. What is in today's form already is read as it stands, so that its lines are those of the file.
"""

from __future__ import annotations

import re

from weft.diag.errors import CompileError, IRSyntaxError
from weft.diag.source import SourceSpan
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.types import FunctionType
from weft.ir.work_item_names import meaning_of
from weft.target.llvm import print_module

_RAW_BYTE = re.compile("[\udc80-\udcff]")
_LLVM_ERROR = re.compile(r"<string>:(\d+):(\d+): error: (.*)")
_DECLARATION = re.compile(r"^(?:declare [^@\n]*@llvm\.|attributes|%\S+ = type).*$", re.MULTILINE)
_TYPED_POINTER = re.compile(r"\b(?:i\d+|float|double|half|[%}\]>][-\w$.]*) ?(?:addrspace\(\d+\))?\*")
_KERNEL_MARKS = "nvvm.annotations"


def decode_text(data: bytes) -> str:
    r"""LLVM's text in a file; a byte that is no UTF-8 becomes the escape ``\XX``, as in LLVM's strings."""
    return escape_raw_bytes(data.decode("utf-8", errors="surrogateescape"))


def escape_raw_bytes(text: str) -> str:
    r"""The text with bytes that are no UTF-8, which Python keeps as lone surrogates, as escapes ``\XX``."""
    return _RAW_BYTE.sub(lambda found: f"\\{ord(found[0]) - 0xDC00:02X}", text)


def read_foreign(text: str, file: str) -> tuple[Module, str]:
    """Read a module in LLVM's text; return it, and the text that it was read from in the end.

    Raises
    ------
    IRSyntaxError, CompileError
        It is no LLVM IR, or holds what weft does not read.
    """
    text = escape_raw_bytes(text)
    try:
        module = read_module(text, filename=file)
    except IRSyntaxError:
        return _upgraded(text, file)
    if _may_be_old(module):
        try:
            printed = print_module(text)
        except CompileError:
            # P-LLVM, which LLVM does not know, is in today's form.
            return module, text
        if _was_old(module, printed):
            return _upgraded(text, file)
    return module, text


def _upgraded(text: str, file: str) -> tuple[Module, str]:
    """The module as LLVM prints it."""
    try:
        printed = print_module(text)
    except CompileError as error:
        raise _placed(error, text, file) from None
    try:
        return read_module(printed, filename=file), printed
    except IRSyntaxError as error:
        # Lines of what LLVM prints are not those of the file.
        line = (error.span.text or "").strip() if error.span is not None else ""
        # Those of what clang made of C are nobody's, but say where they come from.
        is_text = file.startswith("<") or file.endswith((".ll", ".bc"))
        span = _line_of(line, text, file) if is_text else _source_of(line, printed)
        raise IRSyntaxError(error.message, span, error.hint) from None


def _may_be_old(module: Module) -> bool:
    return _KERNEL_MARKS in module.named_metadata or any(_intrinsics(module))


def _intrinsics(module: Module) -> dict[str, FunctionType]:
    """LLVM's intrinsics that the module declares, but for those whose meaning weft knows under this name."""
    return {
        name: function.fn_type
        for name, function in module.functions.items()
        if name.startswith("llvm.") and meaning_of(name) is None
    }


def _was_old(module: Module, printed: str) -> bool:
    """Whether LLVM declares other intrinsics than the module, or marks other kernels."""
    if _KERNEL_MARKS in module.named_metadata:
        return True
    today = _intrinsics(read_module("\n".join(_DECLARATION.findall(printed))))
    return any(today.get(name) != type for name, type in _intrinsics(module).items())


def _placed(error: CompileError, text: str, file: str) -> CompileError:
    """LLVM's complaint, at its place in the file."""
    found = _LLVM_ERROR.search(error.message)
    if found is None:
        return CompileError(error.message.replace("<string>", file))
    lines = text.split("\n")
    line = lines[int(found[1]) - 1] if int(found[1]) <= len(lines) else ""
    hint = None
    if _TYPED_POINTER.search(line):
        hint = "pointers with types are of LLVM 14 or before: let that compiler write bitcode (.bc)"
    span = SourceSpan(file, int(found[1]), int(found[2]), text=line)
    return CompileError(f"LLVM refused the module: {found[3]}", span, hint)


def _source_of(line: str, printed: str) -> SourceSpan | None:
    """The place in the source that a line of LLVM's text comes from."""
    found = re.search(r"!dbg !(\d+)", line)
    place = _node(found[1], printed) if found is not None else ""
    at = re.search(r"\bline: (\d+)(?:, column: (\d+))?", place)
    scope = place
    while scope and "file: !" not in scope:
        up = re.search(r"\bscope: !(\d+)", scope)
        scope = _node(up[1], printed) if up is not None else ""
    holder = re.search(r"\bfile: !(\d+)", scope)
    name = re.search(r'filename: "([^"]*)"', _node(holder[1], printed)) if holder is not None else None
    if at is None or name is None:
        return None
    return SourceSpan(name[1], int(at[1]), int(at[2] or 0))


def _node(number: str, printed: str) -> str:
    """The line that defines a node of metadata."""
    found = re.search(rf"^!{number} = .*$", printed, re.MULTILINE)
    return found[0] if found is not None else ""


def _line_of(line: str, text: str, file: str) -> SourceSpan | None:
    """Where a line that LLVM printed stands in the file, if it stands there once."""
    places = [number for number, own in enumerate(text.split("\n"), 1) if own.strip() == line]
    return SourceSpan(file, places[0], text=line) if line and len(places) == 1 else None


def declaration_in(text: str, file: str, name: str) -> SourceSpan | None:
    """Where a function is declared, if LLVM's text is all the source that there is."""
    found = re.search(rf"^declare .*@{re.escape(name)}\(", text, re.M)
    if found is None or "!llvm.dbg.cu" in text:
        return None
    return SourceSpan(file, text.count("\n", 0, found.start()) + 1, text=found[0])
