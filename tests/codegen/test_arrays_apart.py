"""What a loop writes is told apart from the rest only where one parameter leads to it."""

from types import SimpleNamespace

import pytest

from weft.codegen.parallel.parallel_loops import _stores_apart
from weft.ir.reader import read_module

PROGRAM = """
define void @f(ptr {promise} %a, ptr {promise} %o, i64 %i, i1 %c) {{
entry:
  %p = getelementptr i8, ptr %o, i64 4
  %r = getelementptr i8, ptr %a, i64 8
  br label %body
body:
  %x = load float, ptr %r
  %q = select i1 %c, ptr %o, ptr %p
  {store}
  ret void
}}
"""
ONE, EITHER = "store float %x, ptr %o", "store float %x, ptr %q"


@pytest.mark.parametrize(
    ("promise", "promised", "store", "captured", "apart"),
    [
        ("noalias", False, ONE, ("a", "r", "o"), True),
        ("noalias", False, ONE, ("a", "o", "p"), False),
        ("noalias", False, EITHER, ("a", "o", "p"), False),
        ("", False, ONE, ("a", "o"), False),
        ("", True, ONE, ("a", "r", "o"), True),
        ("", True, ONE, ("r", "o", "p"), False),
        # Either is one of two places in the array.
        ("", True, EITHER, ("r", "o", "p"), False),
    ],
)
def test_what_is_written_has_one_parameter(
    promise: str, promised: bool, store: str, captured: tuple[str, ...], apart: bool
) -> None:
    module = read_module(PROGRAM.format(promise=promise, store=store))
    function = module.functions["f"]
    named = {v.name: v for v in (*function.args, *function.instructions())}
    loop = SimpleNamespace(loop=SimpleNamespace(blocks=function.blocks[1:]))
    assert _stores_apart(loop, [named[name] for name in captured], module, promised=promised) is apart
