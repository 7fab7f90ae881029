"""Names, attribute groups and metadata in the written text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir_equal import first_difference
from weft.ir import (
    Builder,
    DebugLoc,
    Function,
    Instruction,
    MDNode,
    MDString,
    MDTuple,
    Module,
    const_int,
)
from weft.ir.metadata import DbgRecord
from weft.ir.reader import read_module
from weft.ir.types import I32, PTR, VOID, FunctionType, StructType, quote_name
from weft.ir.writer import write_function, write_instruction, write_module
from weft.ir.writer.function import FunctionWriter
from weft.ir.writer.repeated import RepeatedWriter


def make(*names: str) -> Function:
    """A function whose instructions bear these names."""
    function = Function("f", FunctionType(I32, (I32,)), ("x",))
    builder = Builder(function.add_block("entry"))
    value = function.args[0]
    for name in names:
        value = builder.binary("add", value, const_int(1, I32), name=name)
    builder.ret(value)
    return function


def names_of(function: Function) -> list[str]:
    return [line.split()[0] for line in write_function(function).splitlines() if " = " in line]


def test_first_value_keeps_its_name() -> None:
    assert names_of(make("v", "v", "entry", "v.1", "x")) == ["%v", "%v.2", "%entry.1", "%v.1", "%x.1"]


def test_unnamed_values_are_numbered_in_order() -> None:
    assert names_of(make("", "a", "", "b", "")) == ["%0", "%a", "%1", "%b", "%2"]


def test_numbers_are_kept_where_they_still_rise() -> None:
    assert names_of(make("4", "2", "9", "", "10", "40")) == ["%4", "%5", "%9", "%10", "%11", "%40"]


def test_written_text_does_not_depend_on_names_of_others() -> None:
    first, second = make("a", "a"), make("a", "a.1")
    assert write_function(first) == write_function(second)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plain", "plain"),
        ("a.b-c$d_", "a.b-c$d_"),
        ("12", "12"),
        ("1a", '"1a"'),
        ("a b", '"a b"'),
        ('q"\\', '"q\\22\\5C"'),
        ("é", '"\\C3\\A9"'),
        ("\udcff", '"\\FF"'),
        ("", '""'),
    ],
)
def test_names_are_quoted_as_llvm_does(name: str, written: str) -> None:
    assert quote_name(name) == written


@pytest.mark.parametrize("name", ["a b", 'q"\\', "é", "\udcff", "1a", "-x", "\x01raw", "a,b", "日本"])
def test_odd_names_survive(name: str, normal_form: Callable[[str], str]) -> None:
    function = make(name)
    function.name = name
    function.blocks[0].name = name + "!"
    module = Module()
    module.add_function(function)
    text = write_module(module, plain=True)
    read = read_module(text).functions[name]
    assert read.entry.instructions[0].name == name
    assert read.entry.name == name + "!"
    normal_form(text)


def test_quoted_number_is_not_the_numbered_value() -> None:
    text = 'define i32 @f(i32 %0) {\n  %"0" = add i32 %0, 1\n  %2 = add i32 %"0", %0\n  ret i32 %2\n}\n'
    function = read_module(text).functions["f"]
    first, second = function.entry.instructions[:2]
    assert second.operands == [first, function.args[0]]
    assert first.operands[0] is function.args[0]


def test_equal_attribute_lists_share_a_group() -> None:
    module = Module()
    for name in ("f", "g"):
        function = make()
        function.name, function.attributes = name, ("nounwind", '"key"="v"', "alignstack(16)")
        module.add_function(function)
    text = write_module(module, plain=True)
    assert text.count("attributes #") == 1
    assert 'attributes #0 = { nounwind "key"="v" alignstack=16 }' in text
    assert read_module(text).functions["g"].attributes == ("nounwind", '"key"="v"', "alignstack(16)")


def test_only_reachable_metadata_is_written() -> None:
    module = Module()
    function = module.add_function(make("a"))
    leaf = MDTuple([MDString('x"y')])
    cycle = MDTuple([None, leaf], distinct=True)
    cycle.items[0] = cycle
    function.entry.instructions[0].set_metadata("mark", cycle)
    MDTuple([cycle])
    text = write_module(module, plain=True)
    assert ", !mark !0\n" in text
    assert text.endswith('!0 = distinct !{!0, !1}\n!1 = !{!"x\\22y"}\n')


def test_equal_locations_share_a_number() -> None:
    module = Module()
    function = module.add_function(make("a", "b"))
    scope = MDNode("DISubprogram", {"name": MDString("f")}, distinct=True)
    for instruction in function.instructions():
        instruction.loc = DebugLoc(3, 7, scope)
    text = write_module(module)
    assert text.count("!DILocation(line: 3, column: 7, scope: !1)") == 1
    assert text.count("!dbg !0") == 3


def test_debug_record_of_several_values_reads_back() -> None:
    module = Module()
    function = module.add_function(make("a"))
    scope = MDNode("DISubprogram", {"name": MDString("f")}, distinct=True)
    variable = MDNode("DILocalVariable", {"name": MDString("v"), "scope": scope})
    add, ret = function.entry.instructions
    operands = [None, variable, MDNode("DIExpression", {"0": "DW_OP_LLVM_arg", "1": "0"})]
    ret.debug_records = [DbgRecord("value", [add, function.args[0]], operands, DebugLoc(1, 0, scope), True)]
    text = write_module(module)
    assert "#dbg_value(!DIArgList(i32 %a, i32 %x), !0, !DIExpression(DW_OP_LLVM_arg, 0), !1)" in text
    assert first_difference(module, read_module(text)) is None


def test_structs_that_no_table_names_are_defined() -> None:
    module = Module()
    inner = StructType((I32, PTR), name="inner")
    function = module.add_function(Function("f", FunctionType(VOID, (PTR,)), ("p",)))
    builder = Builder(function.add_block())
    builder.load(StructType((inner, I32), name="outer"), function.args[0])
    builder.ret()
    text = write_module(module, plain=True)
    assert "%outer = type { %inner, i32 }\n%inner = type { i32, ptr }" in text
    assert read_module(text).types["outer"].fields == (inner, I32)


def test_instruction_outside_of_a_function_can_be_shown() -> None:
    function = make("a")
    add = function.entry.instructions[0]
    loose = Instruction("mul", I32, (add, const_int(-3, I32)), name="m", flags=("nsw",))
    assert write_instruction(loose) == "%m = mul nsw i32 %a, -3"
    assert write_instruction(add) == "%a = add i32 %x, 1"


CALLS = """
@number = global i32 1

define i32 @one(i32 %x) {
  %y = add i32 %x, 1
  %z = mul i32 %y, 3
  ret i32 %z
}

define i32 @other(i32 %x) #0 {
  %y = call i32 @one(i32 %x), !range !0
  %z = load i32, ptr @number
  %w = add i32 %y, %z
  ret i32 %w
}

attributes #0 = { nounwind }
!0 = !{i32 0, i32 9}
"""


def renamed(module: Module) -> None:
    module.globals["count"] = module.globals.pop("number")
    module.globals["count"].name = "count"


CHANGES: dict[str, tuple[Callable[[Module], object], int]] = {
    "nothing": (lambda m: None, 0),
    "the name of a value": (lambda m: setattr(m.functions["one"].entry.instructions[0], "name", "n"), 1),
    "a flag": (lambda m: setattr(m.functions["one"].entry.instructions[0], "flags", ("nsw",)), 1),
    "an operand": (lambda m: m.functions["one"].entry.instructions[0].set_operand(1, const_int(7, I32)), 1),
    "an attachment": (lambda m: m.functions["other"].entry.instructions[0].set_metadata("range", None), 1),
    "an attribute": (lambda m: setattr(m.functions["other"], "attributes", ("cold",)), 0),
    "the name of a global": (renamed, 2),
    "the name of a block": (lambda m: setattr(m.functions["one"].entry, "name", "begin"), 1),
}
"""What is changed, and how many bodies are written anew."""


@pytest.mark.parametrize(("change", "count"), CHANGES.values(), ids=CHANGES)
def test_what_is_written_again_is_the_module_as_it_is(
    change: Callable[[Module], object], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, writer = read_module(CALLS), RepeatedWriter()
    first = writer.write(module)
    assert first == write_module(module)
    bodies: list[Function] = []
    body = FunctionWriter.body
    monkeypatch.setattr(FunctionWriter, "body", lambda self, f: bodies.append(f) or body(self, f))
    change(module)
    again = writer.write(module)
    assert len(bodies) == count
    assert first_difference(read_module(again), module) is None
    assert (again == first) == (change is CHANGES["nothing"][0])
    assert [*writer.texts] == [*module.functions.values()]
