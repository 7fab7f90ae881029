"""The P-LLVM dialect: predicates, shadows, guards and ``total`` are shown, read back, and refused in plain text."""

from __future__ import annotations

import pytest

from ir_equal import first_difference
from weft.diag.errors import IRSyntaxError, VerifyError
from weft.ir import BasicBlock, Builder, Function, Instruction, Module, Poison
from weft.ir.constants import FALSE
from weft.ir.reader import read_module
from weft.ir.types import F32, I1, PTR, VOID, FunctionType
from weft.ir.verifier import verify
from weft.ir.writer import write_function, write_module

DIALECT = """\
define float @masked(i32 %x, ptr %p, i1 %g) {
entry:
  %c = total icmp sgt i32 %x, 0
  %n = total xor i1 %c, true
  br label %then

then: predicate(%c)
  %a = load float, ptr %p
  %g2 = guard(%g) fadd float %a, 1.000000e+00
  guard(%c) store float %g2, ptr %p
  br label %late

late: predicate(%m)
  %k = total add i32 %x, 1
  %m = total icmp eq i32 %k, 9
  total store float %a, ptr %p
  br label %join

join:
  %r = phi float [ %a, %late ] shadow(0.000000e+00)
  %s = phi nnan float [ %g2, %late ] shadow(%a)
  %sum = total guard(%n) fadd fast float %r, %s
  ret float %sum
}
"""


def test_dialect_reads_back_as_written() -> None:
    module = read_module(DIALECT)
    verify(module)
    function = module.functions["masked"]
    assert write_function(function) == DIALECT
    assert first_difference(module, read_module(write_module(module))) is None


def test_dialect_is_where_it_was_written() -> None:
    entry, then, late, join = read_module(DIALECT).functions["masked"].blocks
    compare, invert = entry.instructions[:2]
    assert compare.total
    assert then.predicate is compare
    assert compare.users == {invert: 1, then: 1, then.instructions[2]: 1}
    assert not then.instructions[0].total
    assert then.instructions[2].guard is compare
    assert late.predicate is late.instructions[1]
    assert join.instructions[1].shadow is then.instructions[0]
    assert join.instructions[2].total
    assert join.instructions[2].guard is invert


def _function() -> tuple[Module, Function, BasicBlock, BasicBlock]:
    module = Module()
    function = module.add_function(Function("f", FunctionType(VOID, (I1, PTR)), ("c", "p")))
    first, second = function.add_block("first"), function.add_block("second")
    Builder(first).br(second)
    return module, function, first, second


def test_plain_text_has_no_predicate() -> None:
    module, function, _, second = _function()
    Builder(second).ret()
    second.set_predicate(function.args[0])
    with pytest.raises(VerifyError, match="predicate of block %second in @f"):
        write_module(module, plain=True)


def test_plain_text_has_no_total_instruction() -> None:
    module, function, _, second = _function()
    store = Builder(second).store(function.args[0], function.args[1])
    store.total = True
    Builder(second).ret()
    with pytest.raises(VerifyError, match=r"total in @f: total store i1 %c, ptr %p"):
        write_module(module, plain=True)


def test_plain_text_has_no_shadow_and_no_guard() -> None:
    module, function, first, second = _function()
    phi = Builder(second).phi(I1, "x", shadow=FALSE)
    phi.add_incoming(function.args[0], first)
    Builder(second).ret()
    with pytest.raises(
        VerifyError, match=r"guard or shadow in @f: %x = phi i1 \[ %c, %first \] shadow\(false\)"
    ):
        write_module(module, plain=True)
    phi.set_shadow(None)
    second.instructions[-1].block = second
    store = second.insert(1, Instruction("store", VOID, function.args, guard=function.args[0]))
    with pytest.raises(VerifyError, match=r"guard\(%c\) store"):
        write_module(module, plain=True)
    store.set_guard(None)
    assert "store i1 %c" in write_module(module, plain=True)


def test_undefined_predicate_and_shadow_are_found() -> None:
    for text, name in ((DIALECT.replace("predicate(%c)", "predicate(%zz)"), "zz"),
                       (DIALECT.replace("shadow(%a)", "shadow(%yy)"), "yy")):  # fmt: skip
        with pytest.raises(IRSyntaxError, match=f"%{name} is not defined"):
            read_module(text)


def test_predicate_may_be_used_before_its_definition_is_read() -> None:
    text = DIALECT.replace("then: predicate(%c)", "then: predicate(%m)")
    function = read_module(text).functions["masked"]
    assert function.blocks[1].predicate is function.blocks[2].instructions[1]


def test_instruction_named_like_a_mark_is_no_mark() -> None:
    head = "define i32 @f(i32 %total, i32 %guard) {\npredicate:\n"
    text = f"{head}  %shadow = add i32 %total, %guard\n  ret i32 %shadow\n}}\n"
    function = read_module(text).functions["f"]
    assert write_function(function) == text
    assert not function.entry.instructions[0].total


def test_poison_shadow_is_kept() -> None:
    _, function, first, second = _function()
    phi = Builder(second).phi(F32, "x", shadow=Poison(F32))
    phi.add_incoming(Poison(F32), first)
    Builder(second).ret()
    assert "%x = phi float [ poison, %first ] shadow(poison)" in write_function(function)
