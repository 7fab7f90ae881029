"""Node splitting: loops get one entry, and the program means the same."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_cfgs import arbitrary_cfgs
from weft import interp
from weft.graph.cfg import CFG
from weft.graph.loops import is_reducible
from weft.interp import Program
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.target.llvm import TargetMachine
from weft.target.passes import PassList, optimize
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.reducible import make_reducible
from weft.transform.loops.simplify_loops import simplify_loops

LANES = 8

TWO_ENTRIES = """
define i32 @f(i1 %p, i32 %n) {
A:
  br i1 %p, label %B, label %C
B:
  %i = phi i32 [ 0, %A ], [ %k, %C ]
  %j = add i32 %i, 1
  br label %C
C:
  %k = phi i32 [ 100, %A ], [ %j, %B ]
  %more = icmp slt i32 %k, %n
  br i1 %more, label %B, label %D
D:
  ret i32 %k
}
"""


def function_of(text: str) -> Function:
    (function,) = read_module(text).definitions()
    return function


def test_a_loop_with_two_entries_gets_one() -> None:
    #    A                A
    #   / \              / \
    #  B <-> C   ->     B'  |     the entry by way of B is a copy, which goes on to C
    #        |           \  |
    #        D        B <-> C -> D
    function = function_of(TWO_ENTRIES)
    assert make_reducible(function)
    verify(function.module)
    view = cfg_of(function)
    assert is_reducible(view.cfg)
    assert [b.name for b in function.blocks] == ["A", "B", "C", "D", "B"]
    assert len(next(iter(view.blocks[2].phis())).blocks) == 3


def test_convergent_operations_stay_in_one_place() -> None:
    text = TWO_ENTRIES.replace("%j = add i32 %i, 1", "%j = add i32 %i, 1\n  call void @weft.barrier()")
    text = text.replace(
        "%more = icmp slt i32 %k, %n", "%more = icmp slt i32 %k, %n\n  call void @weft.barrier()"
    )
    function = function_of("declare void @weft.barrier() convergent\n" + text)
    assert not make_reducible(function)


def test_what_can_be_copied_is_where_the_other_part_cannot() -> None:
    text = TWO_ENTRIES.replace("%j = add i32 %i, 1", "%j = add i32 %i, 1\n  call void @weft.barrier()")
    function = function_of("declare void @weft.barrier() convergent\n" + text)
    assert make_reducible(function)
    assert [b.name for b in function.blocks][-1] == "C"


def program(cfg: CFG, rng: random.Random) -> str:
    """Four numbers, of which each block changes one by another; on which way it goes on, one of them says."""
    lines = ["define i32 @f(i32 %x, i32 %fuel) {", "entry:"]
    lines += [f"  %v{k} = alloca i32\n  store i32 %x, ptr %v{k}" for k in range(4)]
    lines += ["  %f = alloca i32\n  store i32 %fuel, ptr %f\n  br label %b0"]
    for number, targets in enumerate(cfg.succs):
        a, b, c = (rng.randrange(4) for _ in range(3))
        lines += [
            f"b{number}:",
            f"  %a{number} = load i32, ptr %v{a}\n  %c{number} = load i32, ptr %v{b}",
            f"  %m{number} = mul i32 %a{number}, {rng.randrange(3, 99, 2)}",
            f"  %s{number} = add i32 %m{number}, %c{number}",
            f"  %d{number} = add i32 %s{number}, {number}\n  store i32 %d{number}, ptr %v{a}",
            f"  %f{number} = load i32, ptr %f\n  %g{number} = add i32 %f{number}, -1\n  store i32 %g{number}, ptr %f",
            f"  %w{number} = load i32, ptr %v{c}\n  %h{number} = lshr i32 %w{number}, {rng.randrange(8)}",
            f"  %e{number} = and i32 %h{number}, 3\n  %z{number} = icmp sgt i32 %g{number}, 0",
            f"  br i1 %z{number}, label %n{number}, label %out",
            f"n{number}:",
        ]
        cases = " ".join(f"i32 {i}, label %b{t}" for i, t in enumerate(targets[1:]))
        first = f"b{targets[0]}" if targets else "out"
        lines.append(f"  switch i32 %e{number}, label %{first} [ {cases} ]")
    lines += ["out:", *(f"  %r{k} = load i32, ptr %v{k}" for k in range(4))]
    lines += [
        "  %x1 = xor i32 %r0, %r1\n  %x2 = xor i32 %r2, %x1\n  %x3 = sub i32 %x2, %r3\n  ret i32 %x3",
        "}",
    ]
    return "\n".join(lines)


@settings(max_examples=40)
@given(arbitrary_cfgs(max_blocks=6), st.randoms(use_true_random=False))
def test_programs_mean_the_same(cfg: CFG, rng: random.Random) -> None:
    machine = TargetMachine("x86_64-unknown-linux-gnu", "x86-64", "", 1)
    function = function_of(optimize(program(cfg, rng), PassList("sroa", ("sroa", "adce")), machine))
    assert function.module is not None
    arguments = [np.arange(LANES, dtype=np.int32) * 77 + 5, np.arange(LANES, dtype=np.int32) * 2 + 1]

    def result() -> list[int]:
        assert function.module is not None
        outcome = interp.run_function(Program(function.module), function.name, arguments, LANES)
        return outcome.data.tolist()

    wanted = result()
    if make_reducible(function):
        verify(function.module)
        assert is_reducible(cfg_of(function).cfg)
        assert result() == wanted
        simplify_loops(function)
        close_loops(function)
        verify(function.module)
        assert is_loop_closed(function)
        assert result() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_value_leaves_a_loop_over_two_edges_of_a_switch(seed: int) -> None:
    """A φ has a value for each edge, also for two from one block."""
    cfg = CFG([[4], [0, 5, 5], [3], [2], [1, 2, 3], []])
    machine = TargetMachine("x86_64-unknown-linux-gnu", "x86-64", "", 1)
    text = optimize(program(cfg, random.Random(seed)), PassList("sroa", ("sroa", "adce")), machine)
    function = function_of(text)
    simplify_loops(function)
    assert function.module is not None
    assert make_reducible(function)
    simplify_loops(function)
    close_loops(function)
    verify(function.module)
    assert is_loop_closed(function)
