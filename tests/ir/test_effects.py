"""What instructions may do, by opcode and by callee attributes."""

from __future__ import annotations

import pytest

from weft.ir import Instruction, Module
from weft.ir.effects import is_convergent, is_removable, is_speculatable, may_read, may_trap, may_write
from weft.ir.intrinsics import ARRIVE, INTRINSICS, IntrinsicKind, declare, kind_of
from weft.ir.reader import read_module

TEXT = """\
declare float @pure(float) nounwind willreturn memory(none)
declare float @speculatable(float) nounwind willreturn speculatable memory(none)
declare i32 @reads(ptr) nounwind willreturn memory(read)
declare void @writes(ptr) memory(argmem: write)
declare void @anything()
declare i1 @together(i1) convergent nounwind willreturn memory(none)
define void @f(i32 %a, i32 %b, ptr %p, float %x) {
  %add = add i32 %a, %b
  %div = sdiv i32 %a, %b
  %by_two = sdiv i32 %a, 2
  %by_minus_one = sdiv i32 %a, -1
  %by_zero = udiv i32 %a, 0
  %load = load i32, ptr %p
  %volatile = load volatile i32, ptr %p
  store i32 %a, ptr %p
  %alloca = alloca i32
  %rmw = atomicrmw add ptr %p, i32 1 seq_cst
  %pure = call float @pure(float %x)
  %speculatable = call float @speculatable(float %x)
  %reads = call i32 @reads(ptr %p)
  call void @writes(ptr %p)
  call void @anything()
  call void @anything() memory(none)
  %together = call i1 @together(i1 true)
  ret void
}
"""
ROWS = [
    # shown in the order of the text: reads, writes, traps, speculatable, removable
    ("add", "---SD"),
    ("sdiv", "--T-D"),
    ("sdiv", "---SD"),
    ("sdiv", "--T-D"),
    ("udiv", "--T-D"),
    ("load", "R-T-D"),
    ("load", "RWT--"),
    ("store", "-WT--"),
    ("alloca", "----D"),
    ("atomicrmw", "RWT--"),
    ("call", "--T-D"),
    ("call", "---SD"),
    ("call", "R-T-D"),
    ("call", "-WT--"),
    ("call", "RWT--"),
    ("call", "--T--"),
    ("call", "--T-D"),
    ("ret", "-----"),
]


def effects(i: Instruction) -> str:
    answers = (may_read(i), may_write(i), may_trap(i), is_speculatable(i), is_removable(i))
    return "".join(letter if answer else "-" for letter, answer in zip("RWTSD", answers, strict=True))


def test_effects_of_each_instruction() -> None:
    instructions = read_module(TEXT).functions["f"].entry.instructions
    assert [(i.op, effects(i)) for i in instructions] == ROWS


def test_convergence_is_a_callee_attribute() -> None:
    instructions = read_module(TEXT).functions["f"].entry.instructions
    assert [i.name for i in instructions if is_convergent(i)] == ["together"]


@pytest.mark.parametrize("name", INTRINSICS)
def test_intrinsics_declare_what_their_kind_requires(name: str) -> None:
    module = Module()
    function = declare(module, name)
    assert declare(module, name) is function
    assert kind_of(name) is INTRINSICS[name].kind
    harmless = INTRINSICS[name].kind in (IntrinsicKind.ID, IntrinsicKind.SIZE, IntrinsicKind.SHARED)
    assert function.has_attribute("convergent") is not harmless
    assert function.has_attribute("speculatable") is harmless
    # Others order memory, too: among the threads of a warp, and where one arrives without waiting.
    barrier = INTRINSICS[name].kind is IntrinsicKind.BARRIER or name in ("weft.warp.sync", ARRIVE)
    assert function.has_attribute("memory") is not barrier


def test_names_that_are_no_intrinsics_have_no_kind() -> None:
    assert kind_of("sin") is None
    assert kind_of(None) is None
