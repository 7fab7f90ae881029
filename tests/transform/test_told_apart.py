"""LLVM hears that arrays are apart only where all accesses are of parameters, or own objects (`told_apart`)."""

import pytest

from weft.ir.intrinsics import ARRAYS_APART_ATTRIBUTE
from weft.ir.reader import read_module
from weft.transform.loops.told_apart import tell_apart

COPY = """
define void @f(ptr %a, ptr %b, i64 %n) {{
entry:
  {before}
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %head ]
  %from = getelementptr {type}, ptr {source}, i64 %k
  %x = load {type}, ptr %from
  %to = getelementptr {type}, ptr %b, i64 %k
  store {type} %x, ptr %to
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("before", "source", "type", "promised", "told"),
    [
        ("", "%a", "float", True, True),
        ("", "%a", "float", False, False),
        # One array alone, which is read and stored.
        ("", "%b", "float", True, False),
        # The memory of an array from outside, which a parameter may be, too.
        ("%outside = inttoptr i64 4096 to ptr", "%outside", "float", True, False),
        # An address that is loaded.
        ("%loaded = load ptr, ptr %a", "%loaded", "float", True, False),
        ("", "%a", "ptr", True, False),
        # One of two arrays.
        ("%one = select i1 true, ptr %a, ptr %b", "%one", "float", True, False),
        ("call void @g()", "%a", "float", True, False),
    ],
)
def test_parameters_are_told_apart(before: str, source: str, type: str, promised: bool, told: bool) -> None:
    text = COPY.format(before=before, source=source, type=type)
    function = read_module(text + "declare void @g()\n").functions["f"]
    if promised:
        function.attributes = (*function.attributes, f'"{ARRAYS_APART_ATTRIBUTE}"')
    assert tell_apart(function) == told
    assert ["noalias" in argument.attributes for argument in function.args] == [told, told, False]


def test_stores_behind_loops_gain_nothing() -> None:
    text = COPY.format(before="", source="%a", type="float")
    store, last = "  store float %x, ptr %to\n", "  ret void\n"
    text = text.replace(store, "").replace(last, store + last) + "declare void @g()\n"
    function = read_module(text).functions["f"]
    function.attributes = (f'"{ARRAYS_APART_ATTRIBUTE}"',)
    assert not tell_apart(function)
