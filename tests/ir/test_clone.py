"""Copies are equal to their originals, share nothing that can change, and keep debug information right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ir_equal import first_difference, structurally_equal
from weft.ir import ConstInt, Function, Module, Value
from weft.ir.clone import clone_blocks, clone_function, clone_module
from weft.ir.constants import Poison
from weft.ir.reader import read_module
from weft.ir.types import I32
from weft.ir.verifier import problems_of, verify
from weft.ir.writer import write_function, write_module

LL = sorted((Path(__file__).parent / "ll").glob("*.ll"))

LOOP = """\
define i32 @f(i32 %n) {
entry:
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ] shadow(%n)
  %c = total icmp slt i32 %i, %n
  br i1 %c, label %body, label %exit

body: predicate(%c)
  %next = guard(%c) add i32 %i, 1
  br label %head

exit:
  ret i32 %i
}
"""


@pytest.mark.parametrize("path", LL, ids=lambda p: p.stem)
def test_cloned_module_is_equal_and_independent(path: Path) -> None:
    module = read_module(path.read_text())
    before = write_module(module)
    copy = clone_module(module)
    verify(copy)
    assert first_difference(module, copy) is None
    for function in list(copy.definitions()):
        function.remove_blocks(set(function.blocks))
        function.linkage.align = 64
    for variable in copy.globals.values():
        variable.linkage.section = "changed"
    assert write_module(module) == before
    assert not structurally_equal(module, copy)


@pytest.mark.parametrize("path", LL, ids=lambda p: p.stem)
def test_cloned_function_stands_beside_its_original(path: Path, normal_form: Callable[[str], str]) -> None:
    module = read_module(path.read_text())
    texts = {f.name: write_function(f) for f in module.definitions()}
    for function in list(module.definitions()):
        copy = clone_function(function, f"{function.name}.copy")
        verify(module)
        assert write_function(copy).replace(".copy", "") == texts[function.name]
    normal_form(write_module(module))


def test_cloned_function_has_a_subprogram_of_its_own() -> None:
    module = read_module((Path(__file__).parent / "ll" / "debug_info.ll").read_text())
    original = module.functions["work"]
    copy = clone_function(original, "copy")
    subprogram = copy.subprogram
    assert subprogram is not None
    assert subprogram is not original.subprogram
    assert subprogram.node("unit") is original.subprogram.node("unit")  # type: ignore[union-attr]
    for old, new in zip(original.instructions(), copy.instructions(), strict=True):
        for record, other in zip(old.debug_records, new.debug_records, strict=True):
            assert other.variable is not record.variable
            assert other.variable is not None
            assert other.variable.text("name") == record.variable.text("name")  # type: ignore[union-attr]
        if old.loc is not None and old.loc.inlined_at is None:
            assert new.loc is not None
            assert new.loc.subprogram is subprogram


def test_arguments_can_be_bound_while_cloning() -> None:
    module = read_module(LOOP)
    function = module.functions["f"]
    copy = clone_function(function, "g", {function.args[0]: ConstInt(I32, 8)})
    assert "icmp slt i32 %i, 8" in write_function(copy)
    assert "shadow(8)" in write_function(copy)
    assert problems_of(copy) == []
    assert problems_of(function) == []


def test_blocks_cloned_in_place_refer_to_each_other() -> None:
    module = read_module(LOOP)
    function = module.functions["f"]
    entry, head, body, exit_block = function.blocks
    values: dict[Value, Value] = {}
    new_head, new_body = clone_blocks([head, body], function, values)
    phi, compare, branch = new_head.instructions
    assert values[head.instructions[0]] is phi
    assert new_body.predicate is compare
    assert new_body.instructions[0].guard is compare
    assert phi.blocks == [entry, new_body]
    assert phi.shadow is function.args[0]
    assert branch.blocks == [new_body, exit_block]


def test_debug_record_of_a_value_left_behind_says_unknown() -> None:
    module = read_module((Path(__file__).parent / "ll" / "debug_info.ll").read_text())
    function = module.functions["work"]
    other = Function("other", function.fn_type)
    clone_blocks(function.blocks[1:2], other, {})
    loop = function.blocks[1]
    (record,) = other.blocks[0].instructions[1].debug_records
    assert record.values == [other.blocks[0].instructions[0]]
    loop.instructions[1].debug_records[0].replace(loop.instructions[0], function.args[0])
    clone_blocks([loop], other, {})
    (record,) = other.blocks[1].instructions[1].debug_records
    assert record.values == [Poison(I32)]


def test_call_of_itself_goes_to_the_original() -> None:
    module = read_module("define void @f() {\n  call void @f()\n  ret void\n}\n")
    original = module.functions["f"]
    copy = clone_function(original, "g")
    assert copy.entry.instructions[0].callee is original
    values: dict[Value, Value] = {}
    twin = clone_module(module, values)
    assert isinstance(twin, Module)
    assert values[original] is twin.functions["f"]
    assert twin.functions["f"].entry.instructions[0].callee is twin.functions["f"]
