"""``raise``: of a builtin exception, with a text that is known when compiling.

A function that is called from Python ends as it does when an array cannot be made
(`weft.frontend.python.lowering.arrays.heap`). A kernel, from which nobody could take an exception, ends for the thread,
as with numba.cuda; with ``debug=True`` it is a finding.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.frontend.python.lowering.checks import RAISED, check
from weft.frontend.python.lowering.context import statement
from weft.ir.constants import TRUE

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _end_thread(low: Lowering, node: ast.Raise) -> None:
    if not low.instance.is_kernel:
        raise UnsupportedError(
            "a device function of a kernel cannot raise", hint="return a value by which the kernel can tell"
        )
    if low.unit.options.debug:
        check(low, RAISED, TRUE)
    else:
        low.unit.remarks.add(
            RemarkKind.ASSUMPTION,
            "this raise ends the thread as return does: kernels raise nothing",
            low.span(node),
            hint="compile with debug=True to have it reported, or write an error code to an array",
            pass_name="frontend",
        )
    low.branch(low.exit)


@statement(ast.Raise)
def _lower_raise(low: Lowering, node: ast.Raise) -> None:
    exception = node.exc
    texts: list[ast.expr] = []
    if isinstance(exception, ast.Call) and not exception.keywords:
        exception, texts = exception.func, exception.args
    found = low.expr(exception).static if exception is not None and node.cause is None else None
    name = getattr(found, "__name__", "")
    if not (
        isinstance(found, type) and issubclass(found, Exception) and getattr(builtins, name, None) is found
    ):
        raise UnsupportedError(
            "this raise is not supported",
            hint='raise a builtin exception: raise ValueError("too few elements")',
        )
    values = [text.value if isinstance(text, ast.Constant) else None for text in texts]
    if len(values) > 1 or not all(isinstance(value, str) for value in values):
        raise UnsupportedError(
            "an exception is raised with one text, a literal", hint="leave out what varies"
        )
    low.at(node)
    if low.stack[0].is_kernel:
        _end_thread(low, node)
        return
    low.frame.fail(low, error_code(low, name, str(values[0]) if values else "", low.span(node)))
