"""Every change through the methods of values, instructions and blocks keeps the use lists right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ir import BasicBlock, Builder, Function, Instruction, Value, const_int
from weft.ir.constants import FALSE, Poison
from weft.ir.metadata import DbgRecord
from weft.ir.types import I1, I32, PTR, VOID, FunctionType
from weft.ir.verifier import problems_of


@pytest.fixture
def function() -> Function:
    function = Function("f", FunctionType(I32, (I32, I32, I1, PTR)), ("a", "b", "c", "p"))
    builder = Builder(function.add_block("entry"))
    total = builder.binary("add", function.args[0], function.args[0], name="sum")
    product = builder.binary("mul", total, function.args[1], name="product")
    builder.ret(product)
    return function


def test_a_value_counts_its_uses(function: Function) -> None:
    add, mul, ret = function.entry.instructions
    assert function.args[0].users == {add: 2}
    assert add.users == {mul: 1}
    assert list(mul.instruction_users()) == [ret]


def test_set_operand_moves_one_use(function: Function) -> None:
    add = function.entry.instructions[0]
    add.set_operand(1, function.args[1])
    assert function.args[0].users == {add: 1}
    assert problems_of(function) == []


def test_replace_all_uses_reaches_predicates_shadows_guards_and_records(function: Function) -> None:
    entry = function.entry
    _, _, flag, pointer = function.args
    other = function.add_block("other")
    entry.instructions[-1].erase()
    Builder(entry).br(other)
    phi = Builder(other).phi(I1, "phi", shadow=flag)
    phi.add_incoming(flag, entry)
    store = other.append(Instruction("store", VOID, (flag, pointer), guard=flag))
    other.set_predicate(flag)
    record = DbgRecord("value", [flag], [None], None)
    Builder(other).ret(function.args[0]).debug_records = [record]
    new = Builder(before=entry.instructions[0]).binary("xor", flag, FALSE, name="new")
    users_before = dict(flag.users)
    flag.replace_all_uses(new)
    assert new.users == users_before | {phi: 2, store: 2, other: 1}
    assert flag.users == {}
    assert (phi.shadow, store.guard, other.predicate, record.values) == (new, new, new, [new])
    assert flag.records == ()
    assert new.records == (record,)


def test_erase_hands_debug_records_on_and_forgets_the_value(function: Function) -> None:
    add, mul, ret = function.entry.instructions
    record = DbgRecord("value", [mul], [None], None)
    mul.debug_records = [record]
    ret.set_operand(0, function.args[0])
    mul.erase()
    assert ret.debug_records == [record]
    assert record.values == [Poison(I32)]
    assert add.users == {}
    assert mul.block is None


def test_used_instruction_cannot_be_erased(function: Function) -> None:
    with pytest.raises(AssertionError, match="is erased while used"):
        function.entry.instructions[0].erase()


def test_predecessors_follow_terminators(function: Function) -> None:
    entry = function.entry
    a, b = function.add_block("a"), function.add_block("b", after=entry)
    entry.instructions[-1].erase()
    branch = Builder(entry).cond_br(function.args[2], a, a)
    assert a.predecessors == [entry]
    assert a.users == {branch: 2}
    assert entry.successors == [a]
    branch.set_block(1, b)
    assert (a.predecessors, b.predecessors) == ([entry], [entry])
    assert function.blocks == [entry, b, a]


def test_removing_a_phi_source_removes_all_its_edges() -> None:
    function = Function("f", FunctionType(VOID, (I32,)), ("x",))
    one, two, join = (function.add_block(n) for n in ("one", "two", "join"))
    phi = Builder(join).phi(I32)
    for block in (one, two, one):
        phi.add_incoming(function.args[0], block)
    join.remove_phi_source(one)
    assert phi.blocks == [two]
    assert function.args[0].users == {phi: 1}
    assert one.users == {}
    join.replace_phi_source(two, one)
    assert phi.incoming_value(one) is function.args[0]
    with pytest.raises(KeyError):
        phi.incoming_value(two)


def test_constants_have_no_use_list(function: Function) -> None:
    one = const_int(1, I32)
    Builder(before=function.entry.terminator).binary("add", one, one)
    assert one.users == {}
    assert not one.is_used


def _operations(draw: st.DataObject, function: Function) -> None:
    """One random edit."""
    block = function.entry
    values: list[Value] = [*function.args[:2], *block.instructions[:-1], const_int(3, I32)]
    instructions = block.instructions[:-1]
    kind = draw.draw(st.sampled_from(["insert", "set", "set_all", "replace", "erase", "predicate", "guard"]))
    pick = draw.draw(st.integers(0, 100))
    other = values[draw.draw(st.integers(0, 100)) % len(values)]
    target = instructions[pick % len(instructions)] if instructions else None
    if kind == "insert" or target is None:
        block.insert(pick % len(block.instructions), Instruction("add", I32, (other, other)))
    elif kind == "set":
        target.set_operand(pick % 2, other)
    elif kind == "set_all":
        target.set_operands([other, target.operands[0]])
    elif kind == "replace":
        target.replace_all_uses(other)
    elif kind == "erase" and not target.users:
        target.erase()
    elif kind == "predicate":
        block.set_predicate(function.args[2] if pick % 2 else None)
    elif kind == "guard":
        target.set_guard(function.args[2] if pick % 2 else None)


@given(st.data())
def test_random_edits_keep_use_lists(data: st.DataObject) -> None:
    function = Function("f", FunctionType(VOID, (I32, I32, I1)), ("a", "b", "c"))
    block: BasicBlock = function.add_block("entry")
    Builder(block).ret()
    for _ in range(data.draw(st.integers(1, 25))):
        _operations(data, function)
        assert not [p for p in problems_of(function) if "use list" in p.message or "not defined" in p.message]
