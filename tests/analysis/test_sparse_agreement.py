"""Two derivations, one result: the simple sparse analysis and the engine under its basic lattice.

Where they differ, the reason is one of these, and the tests hold each difference to it:

* **Exits told apart.** A value of a loop is used behind it, where only uniform exits lead: the sparse analysis has an
  η for these. The engine asks for each loop whether any exit is divergent, unless the program is in loop-closed SSA
  form. The sparse analysis is more precise.
* **Private memory.** The engine follows the contents of stack objects, the sparse analysis takes them for varying.
* **Activation.** The engine knows where all threads are active, and so what ``weft.mask`` and a shuffle from lane 0
  give there. The sparse analysis knows dependences only.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given

from analysis.test_sparse_soundness import options_of
from generators.programs import random_program
from random_cfgs import arbitrary_cfgs, reducible_cfgs
from weft.analysis.divergence import Divergence, Summaries, analyze_divergence
from weft.analysis.gated.gated_ssa import Eta
from weft.analysis.gated.sparse import SimpleDivergence, simple_divergence
from weft.analysis.shapes import Basic
from weft.graph.cfg import CFG
from weft.ir import Function, Instruction
from weft.ir.reader import read_module
from weft.ir.types import VOID

PROGRAMS = 5_000 if "WEFT_FUZZ" in os.environ else 60


def both(function: Function, scope: str = "lanes") -> tuple[Divergence, SimpleDivergence]:
    domain = Basic((8,) if scope == "lanes" else (None, None, None))
    engine = analyze_divergence(function, domain=domain, scope=scope, summaries=Summaries())
    return engine, simple_divergence(function, scope=scope)


def differences(function: Function, scope: str = "lanes") -> tuple[int, list[Instruction], list[Instruction]]:
    """How many values were compared, those only the engine has for uniform, and those only the sparse analysis has."""
    engine, sparse = both(function, scope)
    values = [i for i in function.instructions() if i.type is not VOID and i in sparse.graph.number]
    by_engine = [i for i in values if engine.is_uniform(i) and sparse.is_divergent(i)]
    by_sparse = [i for i in values if not engine.is_uniform(i) and not sparse.is_divergent(i)]
    assert all(tells_exits_apart(sparse, i) for i in by_sparse), by_sparse
    return len(values), by_engine, by_sparse


def tells_exits_apart(sparse: SimpleDivergence, value: Instruction) -> bool:
    """Whether the value depends on one of a loop, as seen behind some of the loop's exits only."""
    graph = sparse.graph
    reached = [graph.number[value]]
    seen = set(reached)
    for number in reached:
        variable = graph.variables[number]
        if isinstance(variable, Eta) and len(variable.exits) < len(variable.loop.exit_edges):
            return True
        more = {*graph.inputs[number], *graph.deciders[number]} - seen
        seen |= more
        reached += more
    return False


@pytest.mark.parametrize("scope", ["lanes", "group"])
def test_equal_on_random_programs_but_for_exits_told_apart(scope: str) -> None:
    compared = more = 0
    for seed in range(PROGRAMS):
        options = replace(options_of(seed), poison=False, stack=False, horizontal=False)
        kernel = random_program(seed, options).functions["kernel"]
        count, by_engine, by_sparse = differences(kernel, scope)
        assert not by_engine, (seed, by_engine)
        compared += count
        more += len(by_sparse)
    print(f"{PROGRAMS} programs, {compared} values; uniform only in the sparse analysis: {more}")
    assert more < compared / 100


def program_of(cfg: CFG, divergent: int) -> str:
    """A kernel with the given graph whose branch in one block is divergent, all others being uniform.

    Each block computes the sum of two φs: one with a constant for each predecessor, and one that takes the sum of each
    (the φ itself where that does not dominate), so that values are used wherever they can be.
    """
    lines = ["declare i64 @weft.local.id(i32)", "define ptx_kernel void @k(i64 %u) {", "enter:"]
    lines += ["%t = call i64 @weft.local.id(i32 0)", "br label %b0"]
    for block, succs in enumerate(cfg.succs):
        preds = cfg.distinct_preds(block)
        constants = ", ".join([f"[ {p}, %b{p} ]" for p in preds] + (["[ -1, %enter ]"] if block == 0 else []))
        sums = ", ".join([f"[ %s{p}, %b{p} ]" for p in preds] + (["[ 0, %enter ]"] if block == 0 else []))
        lines.append(f"b{block}:")
        if constants:
            lines += [f"%c{block} = phi i64 {constants}", f"%p{block} = phi i64 {sums}"]
            lines.append(f"%s{block} = add i64 %c{block}, %p{block}")
        else:
            lines.append(f"%s{block} = add i64 %u, {block}")
        source = "%t" if block == divergent else "%u"
        lines.append(f"%x{block} = and i64 {source}, 3")
        if not succs:
            lines.append("ret void")
        else:
            cases = " ".join(f"i64 {i}, label %b{t}" for i, t in enumerate(succs[1:]))
            lines.append(f"switch i64 %x{block}, label %b{succs[0]} [ {cases} ]")
    return "\n".join([*lines, "}"])


@given(reducible_cfgs())
def test_equal_on_any_reducible_graph_with_one_divergent_branch(cfg: CFG) -> None:
    # φs take values on edges, so the program is loop-closed but for the conditions, which are not from loops.
    for branch in range(len(cfg)):
        kernel = read_module(program_of(cfg, branch)).functions["k"]
        _, by_engine, by_sparse = differences(kernel)
        assert not by_engine and not by_sparse


@given(arbitrary_cfgs(max_blocks=7, max_succs=2))
def test_on_irreducible_graphs_the_sparse_analysis_tells_entries_apart(cfg: CFG) -> None:
    """The engine lets threads part when they enter an irreducible loop by one block from two; both are sound."""
    for branch in range(len(cfg)):
        kernel = read_module(program_of(cfg, branch)).functions["k"]
        engine, sparse = both(kernel)
        for value in kernel.instructions():
            if value.type is not VOID and value in sparse.graph.number:
                assert not engine.is_uniform(value) or not sparse.is_divergent(value)


def test_private_memory_is_followed_by_the_engine_only() -> None:
    text = """
    define ptx_kernel void @k(i32 %u) {
      %a = alloca i32
      store i32 %u, ptr %a
      %x = load i32, ptr %a
      ret void
    }"""
    function = read_module(text).functions["k"]
    _, by_engine, by_sparse = differences(function)
    assert [i.name for i in by_engine] == ["a", "x"] and not by_sparse


def test_activation_is_known_to_the_engine_only() -> None:
    text = """
    declare i1 @weft.mask()
    declare i32 @weft.shfl.idx.i32(i32, i32)
    declare i32 @weft.lane.id()
    define ptx_kernel void @k() {
      %m = call i1 @weft.mask()
      %l = call i32 @weft.lane.id()
      %x = call i32 @weft.shfl.idx.i32(i32 %l, i32 0)
      ret void
    }"""
    function = read_module(text).functions["k"]
    _, by_engine, by_sparse = differences(function)
    assert [i.name for i in by_engine] == ["m", "x"] and not by_sparse


def test_exits_are_told_apart_by_the_sparse_analysis_only() -> None:
    """Threads leave by a divergent exit to %one, and all that are left by a uniform one to %other."""
    text = """
    declare i64 @weft.local.id(i32)
    define ptx_kernel void @k(i64 %n) {
    entry:
      %t = call i64 @weft.local.id(i32 0)
      br label %head
    head:
      %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
      %d = icmp eq i64 %i, %t
      br i1 %d, label %one, label %latch
    latch:
      %i.next = add i64 %i, 1
      %u = icmp eq i64 %i.next, %n
      br i1 %u, label %other, label %head
    one:
      %x = add i64 %i, 1
      ret void
    other:
      %y = add i64 %i, 1
      ret void
    }"""
    function = read_module(text).functions["k"]
    _, by_engine, by_sparse = differences(function)
    assert not by_engine and [i.name for i in by_sparse] == ["y"]
