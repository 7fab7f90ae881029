"""What both ways of a branch compute alike is computed before it, once."""

import pytest

from weft.interp import run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.same_both_ways import compute_once

#   entry ─ left ─ end
#       └── right ──┘
TEXT = """
define i64 @f(i64 %a, i64 %b) {{
entry:
  %c = icmp slt i64 %a, %b
  br i1 %c, label %left, label %right
left:
  %x = {left}
  %u = mul i64 %x, 3
  br label %end
right:
  %y = {right}
  %v = mul i64 %y, 5
  br label %end
end:
  %z = phi i64 [ %x, %left ], [ %y, %right ]
  %w = phi i64 [ %u, %left ], [ %v, %right ]
  %sum = add i64 %z, %w
  ret i64 %sum
}}
"""


@pytest.mark.parametrize(
    ("left", "right", "once"),
    [
        ("add nsw i64 %a, 1", "add i64 %a, 1", 1),
        ("sub i64 %a, %b", "sub i64 %a, %b", 1),
        ("add i64 %a, 1", "add i64 %a, 2", 0),
        ("add i64 %a, 1", "sub i64 %a, 1", 0),
        ("sdiv i64 7, %a", "sdiv i64 7, %a", 0),
    ],
)
def test_equal_computations(left: str, right: str, once: int) -> None:
    original = read_module(TEXT.format(left=left, right=right))
    module = read_module(TEXT.format(left=left, right=right))
    function = module.functions["f"]
    assert compute_once(function) == once
    verify(function)
    if once:
        assert [i.flags for i in function.entry.instructions if i.op == left.split()[0]] == [()]
    for a, b in ((1, 2), (2, 1), (-3, -3)):
        one, other = (run_function(m, "f", [a, b], 1).value.data[0] for m in (original, module))
        assert one == other
