"""``raise`` in functions that are called from Python: of a builtin exception, with a text that is known when compiling.

The function ends as it does when an array cannot be made (`weft.frontend.python.lowering.arrays.heap`).
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from weft.diag.errors import UnsupportedError
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.frontend.python.lowering.context import statement, unsupported

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@statement(ast.Raise)
def _lower_raise(low: Lowering, node: ast.Raise) -> None:
    if low.stack[0].is_kernel:
        raise unsupported(node)
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
    low.frame.fail(low, error_code(low, name, str(values[0]) if values else "", low.span(node)))
