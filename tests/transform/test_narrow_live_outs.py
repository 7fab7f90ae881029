"""What leaves a loop and is only truncated is kept in the narrow type, where that costs nothing inside."""

import textwrap

import numpy as np
import pytest

from transform.chain import returned
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import domain_named
from weft.interp import run_function
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.narrow_live_outs import narrow_live_outs

WIDTH = 4

COUNT = """
define i32 @count(i32 %t, i64 %w) {
P:
  br label %H
H:
  %n = phi i64 [ 0, %P ], [ %n.next, %L ]
  %x = phi i32 [ %t, %P ], [ %x.next, %L ]
  %v = phi i64 [ %w, %P ], [ %v.next, %L ]
  %small = icmp slt i32 %x, 2
  br i1 %small, label %X, label %L
L:
  %n.next = add i64 %n, 1
  %x.next = lshr i32 %x, 1
  %v.next = mul i64 %v, 3
  %odd.bit = and i32 %x, 7
  %odd = icmp eq i32 %odd.bit, 5
  br i1 %odd, label %Y, label %H
X:
  %n.out = phi i64 [ %n, %H ]
  %v.out = phi i64 [ %v, %H ]
  br label %Z
Y:
  %n.early = phi i64 [ %n.next, %L ]
  %wide = zext i32 %t to i64
  br label %Z
Z:
  %r = phi i64 [ %n.out, %X ], [ %n.early, %Y ]
  %s = phi i64 [ %v.out, %X ], [ %wide, %Y ]
  %r32 = trunc i64 %r to i32
  %s32 = trunc i64 %s to i32
  %sum = add i32 %r32, %s32
  ret i32 %sum
}
"""


def narrowed(text: str) -> tuple[Module, Function, int]:
    module = read_module(textwrap.dedent(text))
    function = next(module.definitions())
    domain = domain_named("product", (WIDTH,))
    varying = {a: domain.varying(64) for a in function.args}
    count = narrow_live_outs(
        function, analyze_divergence(function, domain=domain, initial=varying, width=WIDTH)
    )
    verify(module)
    return module, function, count


def test_a_counter_leaves_its_loop_in_the_type_that_is_used():
    _, function, _ = narrowed(COUNT)
    types = {i.name: str(i.type) for i in function.instructions() if i.is_phi}
    assert types["r"] == types["n.out"] == types["n.early"] == "i32"
    assert types["n"] == "i64"


def test_a_varying_value_is_truncated_behind_the_loop():
    """In the loop it would be one more vector operation in each iteration."""
    _, function, _ = narrowed(COUNT)
    truncations = [i for i in function.instructions() if i.op == "trunc" and i.operands[0].name == "v.out"]
    assert [t.block.name for t in truncations if t.block] == ["X"]
    assert not [i for i in function.instructions() if i.op == "trunc" and i.operands[0].name == "wide"]


@pytest.mark.parametrize("semantics", ["FR", "OBL"])
def test_the_result_is_the_same(semantics: str):
    arguments = [np.array([0, 5, 77, 1 << 20], np.int32), np.array([1, 2, -3, 1 << 40])]
    before = run_function(read_module(COUNT), "count", arguments, WIDTH, semantics=semantics)
    module, _, count = narrowed(COUNT)
    after = run_function(module, "count", arguments, WIDTH, semantics=semantics)
    assert count and before is not None and after is not None
    assert before.data.tolist() == after.data.tolist()


def test_a_value_that_is_also_used_whole_stays_whole():
    text = COUNT.replace("%sum = add i32 %r32, %s32", "%sum0 = add i32 %r32, %s32\n  %high = lshr i64 %r, 40\n"
                         "  %h32 = trunc i64 %high to i32\n  %sum = add i32 %sum0, %h32")  # fmt: skip
    module, function, _ = narrowed(text)
    assert next(i for i in function.instructions() if i.name == "r").type.bits == 64
    arguments = [np.array([0, 5, 77, 9], np.int32), np.arange(4)]
    assert returned("count", arguments, WIDTH)(module, "FR") == returned("count", arguments, WIDTH)(
        read_module(text), "FR"
    )
