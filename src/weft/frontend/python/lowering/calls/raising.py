"""``raise``: of an exception, with a text that is known when compiling.

A function that is called from Python ends as it does when an array cannot be made
(`weft.frontend.python.lowering.arrays.heap`), and the exception is raised there: one of Python's own, or of a class
that an import finds. A kernel, from which nobody could take an exception, ends for the thread, also where a function
that it calls raises; with ``debug=True`` it is a finding, and an exception of that class.
"""

from __future__ import annotations

import ast
import builtins
import sys
from functools import reduce
from typing import TYPE_CHECKING

from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.frontend.python.lowering.checks import RAISED, check
from weft.frontend.python.lowering.context import statement
from weft.ir.constants import TRUE

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _end_thread(low: Lowering, node: ast.Raise, raised: type[Exception], text: str) -> None:
    span = low.span(node)
    if low.unit.options.debug:
        check(low, RAISED, TRUE)
        low.unit.raised[span.file, span.line] = raised, text
    else:
        low.unit.remarks.add(
            RemarkKind.ASSUMPTION,
            "this raise ends the thread as return does: kernels raise nothing",
            span,
            hint="compile with debug=True to have it reported, or write an error code to an array",
            pass_name="frontend",
        )
    if low.instance.is_kernel:
        low.branch(low.exit)
    else:
        low.frame.fail(low, 1)


def _kind(raised: type[Exception]) -> str | None:
    """How compiled code names a class of exceptions: by its name, or by module and name where an import finds it."""
    if getattr(builtins, raised.__name__, None) is raised:
        return raised.__name__
    module = sys.modules.get(raised.__module__)
    found = reduce(lambda owner, name: getattr(owner, name, None), raised.__qualname__.split("."), module)
    return f"{raised.__module__}:{raised.__qualname__}" if found is raised else None


@statement(ast.Raise)
def _lower_raise(low: Lowering, node: ast.Raise) -> None:
    exception = node.exc
    texts: list[ast.expr] = []
    if isinstance(exception, ast.Call) and not exception.keywords:
        exception, texts = exception.func, exception.args
    found = low.expr(exception).static if exception is not None and node.cause is None else None
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise UnsupportedError(
            "this raise is not supported",
            hint='name a class of exceptions: raise ValueError("too few elements")',
        )
    values = [low.expr(text).static for text in texts]
    if len(values) > 1 or not all(isinstance(value, str) for value in values):
        raise UnsupportedError(
            "an exception is raised with one text, which is known when compiling",
            hint="leave out what varies",
        )
    low.at(node)
    text = str(values[0]) if values else ""
    if low.stack[0].is_kernel:
        _end_thread(low, node, found, text)
        return
    kind = _kind(found)
    if kind is None:
        raise UnsupportedError(
            f"no import finds the class {found.__qualname__}, which is raised here",
            hint="define it at the top of a module, or raise an exception of Python's own",
        )
    low.frame.fail(low, error_code(low, kind, text, low.span(node)))
