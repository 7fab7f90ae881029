"""Structural equality sees every difference but those of local names and metadata numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir_equal import first_difference, structurally_equal
from weft.ir import ConstInt, Function, MDNode, MDString, Module, Poison
from weft.ir.reader import read_module
from weft.ir.types import I32, I64

TEXT = """\
source_filename = "a"
%pair = type { i32, i32 }
@g = constant [2 x i64] [i64 1, i64 ptrtoint (ptr @g to i64)], align 8
@h = alias i64, ptr @g
define i32 @f(i32 noundef %n, ptr %p) nounwind {
entry:
    #dbg_value(i32 %n, !2, !DIExpression(), !3)
  %a = add nsw i32 %n, 1, !dbg !3
  %b = load i32, ptr %p, align 4, !range !1
  br label %end
end: predicate(true)
  %c = phi i32 [ %a, %entry ] shadow(%b)
  ret i32 %c
}
!named = !{!0}
!0 = distinct !{!0, !1, !"text"}
!1 = !{i32 0, i32 4}
!2 = !DILocalVariable(name: "n", arg: 1, scope: !4)
!3 = !DILocation(line: 3, column: 4, scope: !4)
!4 = distinct !DISubprogram(name: "f")
"""


def _instruction(index: int) -> Callable[[Module], object]:
    return lambda m: list(m.functions["f"].instructions())[index]


CHANGES: dict[str, Callable[[Module], object]] = {
    "source_filename": lambda m: setattr(m, "source_filename", "b"),
    "types": lambda m: m.types.clear(),
    "a global's alignment": lambda m: setattr(m.globals["g"].linkage, "align", 16),
    "an initializer": lambda m: setattr(m.globals["g"], "initializer", Poison(m.globals["g"].value_type)),
    "an alias": lambda m: setattr(m.aliases["h"], "aliasee", m.functions["f"]),
    "a function's attribute": lambda m: setattr(m.functions["f"], "attributes", ()),
    "a parameter's attribute": lambda m: setattr(m.functions["f"].args[0], "attributes", ()),
    "calling convention": lambda m: setattr(m.functions["f"], "calling_convention", "fastcc"),
    "a flag": lambda m: setattr(_instruction(0)(m), "flags", ()),
    "an opcode": lambda m: setattr(_instruction(0)(m), "op", "sub"),
    "total": lambda m: setattr(_instruction(0)(m), "total", True),
    "an alignment": lambda m: _instruction(1)(m).attrs.update(align=8),  # type: ignore[attr-defined]
    "an operand": lambda m: _instruction(0)(m).set_operand(1, ConstInt(I32, 2)),  # type: ignore[attr-defined]
    "operand order": lambda m: _instruction(0)(m).operands.reverse(),  # type: ignore[attr-defined]
    "a shadow": lambda m: _instruction(3)(m).set_shadow(None),  # type: ignore[attr-defined]
    "a predicate": lambda m: m.functions["f"].blocks[1].set_predicate(None),
    "a guard": lambda m: _instruction(1)(m).set_guard(ConstInt(I64, 1)),  # type: ignore[attr-defined]
    "a location": lambda m: setattr(_instruction(0)(m), "loc", None),
    "an attachment": lambda m: setattr(_instruction(1)(m), "metadata", {}),
    "a range": lambda m: _instruction(1)(m).metadata["range"].items.reverse(),  # type: ignore[attr-defined]
    "a debug record": lambda m: setattr(_instruction(0)(m), "debug_records", ()),
    "named metadata": lambda m: m.named_metadata.update(other=[]),
    "a metadata string": lambda m: m.named_metadata["named"][0].items.__setitem__(2, MDString("x")),  # type: ignore[union-attr]
    "a metadata cycle": lambda m: m.named_metadata["named"][0].items.__setitem__(0, MDNode("DIFile")),  # type: ignore[union-attr]
    "a block more": lambda m: m.functions["f"].add_block(),
    "a function more": lambda m: m.add_function(Function("k", m.functions["f"].fn_type)),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_a_difference(change: str) -> None:
    a, b = read_module(TEXT), read_module(TEXT)
    assert structurally_equal(a, b)
    CHANGES[change](b)
    assert first_difference(a, b) is not None
    assert not structurally_equal(b, a)


def test_names_and_numbers_do_not_matter() -> None:
    renamed = TEXT.replace("%a", "%q").replace("%end", "%z").replace("end:", "z:").replace("!1", "!17")
    assert first_difference(read_module(TEXT), read_module(renamed)) is None


def test_functions_compare_by_themselves() -> None:
    a, b = read_module(TEXT).functions["f"], read_module(TEXT).functions["f"]
    assert structurally_equal(a, b)
    b.entry.instructions[0].flags = ("nuw",)
    assert first_difference(a, b) == "flags of <%a = add i32> in block %entry of @f: {'nsw'} and {'nuw'}"
    assert first_difference(a, read_module(TEXT)) == "one is a module, the other is a function"
