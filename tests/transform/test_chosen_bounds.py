"""What a loop asks beside its bound chooses the bound, and loops run as often as they did."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.interp import run_function
from weft.ir import Module
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.chosen_bounds import choose_bounds

TEXT = """
define i8 @f(i8 %a, i8 %n, i8 %d) {{
entry:
  %c = icmp ne i8 %d, 0
  %e = icmp slt i8 %d, 9
  br label %head
head:
  %i = phi i8 [ {start}, %entry ], [ %next, %body ]
  {test}
  br i1 %more, label %body, label %done
body:
  %next = add i8 %i, 1
  br label %head
done:
  ret i8 %i
}}
"""
BOUNDED = "%b = icmp slt i8 %i, %n\n  "


def made(test: str, start: str = "0") -> Module:
    return read_module(TEXT.format(test=test, start=start))


def counted(module: Module) -> CountedLoop | str:
    view = cfg_of(module.functions["f"])
    return counted_loop(view, loop_forest(view.cfg).loops[0])


@pytest.mark.parametrize("start", ["0", "%a"])
@pytest.mark.parametrize(
    "test",
    [
        BOUNDED + "%more = select i1 %c, i1 %b, i1 false",
        BOUNDED + "%more = select i1 %b, i1 %c, i1 false",
        BOUNDED + "%more = and i1 %b, %c",
        BOUNDED + "%m = select i1 %e, i1 %b, i1 false\n  %more = select i1 %c, i1 %m, i1 false",
        "%b = icmp sgt i8 %n, %i\n  %more = and i1 %c, %b",
        "%b = icmp ult i8 %i, %n\n  %more = and i1 %c, %b",
    ],
)
def test_loops_run_as_often(test: str, start: str) -> None:
    before, after = made(test, start), made(test, start)
    assert isinstance(counted(before), str)
    assert choose_bounds(after.functions["f"]) == 1
    verify(after)
    assert isinstance(counted(after), CountedLoop)
    for a in (-3, 0, 5):
        for n in (-128, -2, 0, 1, 6, 127):
            for d in (0, 1, 9, -1):
                numbers = [v & 255 for v in (a, n, d)]
                results = [run_function(m, "f", numbers, 1).value.data[0] for m in (before, after)]
                assert results[0] == results[1], (a, n, d)


def test_a_start_that_is_not_compared_may_be_poison() -> None:
    """What an addition gives that wraps around is no number, and is not asked for where a condition does not hold."""
    test = BOUNDED + "%more = select i1 %c, i1 %b, i1 false"
    text = TEXT.format(test=test, start="%s").replace(
        "br label %head", "%s = add nsw i8 %a, 1\n  br label %head", 1
    )
    text = text.replace("ret i8 %i", "ret i8 %d")
    module = read_module(text)
    assert choose_bounds(module.functions["f"]) == 1
    verify(module)
    assert run_function(module, "f", [127, 5, 0], 1).value.data[0] == 0


@pytest.mark.parametrize(
    "test",
    [
        BOUNDED + "%more = or i1 %c, %b",
        "%b = icmp sle i8 %i, %n\n  %more = and i1 %c, %b",
        BOUNDED + "%other = icmp ne i8 %i, %d\n  %more = and i1 %other, %b",
        "%b = icmp slt i8 %i, %n\n  %more = xor i1 %b, %c",
    ],
)
def test_others_stay(test: str) -> None:
    assert choose_bounds(made(test).functions["f"]) == 0


def test_a_quotient_bounds_a_parallel_loop() -> None:
    """The quotient by 0 is 0, for which LLVM asks in the loop."""

    @weft.jit
    def counted_blocks(half, a):
        for b in prange(a.size // (2 * half)):
            for k in range(half):
                a[b * 2 * half + k] += 1

    for half in (1, 3, 128, 1000, 5000):
        a = np.zeros(4099, np.int32)
        counted_blocks(half, a)
        whole = a.size // (2 * half)
        wanted = np.zeros_like(a)
        wanted[: whole * 2 * half].reshape(whole, 2, half)[:, 0] = 1
        assert (a == wanted).all(), half
    a = np.zeros(100, np.int32)
    counted_blocks(0, a)
    assert not a.any()


@pytest.mark.parametrize("on", [True, False])
def test_a_choice_bounds_a_parallel_loop(on: bool) -> None:
    @weft.jit
    def some(on, n, a):
        for i in prange(n if on else 0):
            a[i] = i

    a = np.zeros(300, np.int64)
    some(on, 200, a)
    assert (a[:200] == (np.arange(200) if on else 0)).all()
    assert not a[200:].any()
