"""What asks a question of all that a value is computed of asks each part once, be it shared by many."""

from collections.abc import Callable

import pytest

from steps import TooManyStepsError, at_most
from weft.analysis.loops.along_rows import changes_in
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_computed_before
from weft.analysis.loops.row_loops import straight_rows
from weft.analysis.loops.rows_in_place import _is_same
from weft.analysis.loops.triangles import _linear
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.slices import slice_of
from weft.transform.loops.asked_ahead import _is_counted
from weft.transform.loops.counter_banks import _moves_on
from weft.transform.loops.counts_ahead import _is_computed
from weft.transform.loops.runs import _reads, changes
from weft.transform.loops.sums_in_fours import _is_counted as is_looked_up_in_order
from weft.transform.loops.sums_in_fours import _needs
from weft.transform.numbers.signed_indices import _has_product, _is_exact
from weft.transform.numbers.small_numbers import root_of
from weft.transform.numbers.wide_addresses import widen_addresses

LONG = 60
"""Ways through a chain double, about, with each second of its sums."""

STEPS = 100 * LONG


def loop_of(op: str, first: str = "%n", second: str = "%m", type: str = "i64") -> Function:
    """A loop with a chain of operations, each on the last two."""
    names = [first, second]
    chain = []
    for k in range(LONG):
        chain.append(f"  %t{k} = {op} {type} {names[-1]}, {names[-2]}")
        names.append(f"%t{k}")
    last = names[-1]
    return read_module(f"""
define void @f(ptr %a, {type} %n, {type} %m) {{
entry:
  br label %loop
loop:
  %i = phi {type} [ 0, %entry ], [ %next, %loop ]
{chr(10).join(chain)}
  %behind = add nsw {type} {last}, 1
  %p = getelementptr float, ptr %a, {type} {last}
  %q = getelementptr float, ptr %a, {type} %behind
  %x = load float, ptr %p
  store float %x, ptr %q
  %next = add nuw nsw {type} %i, 1
  %again = icmp slt {type} %next, %n
  br i1 %again, label %loop, label %exit
exit:
  ret void
}}""").functions["f"]


def found(function: Function, name: str) -> Instruction:
    return next(i for i in function.instructions() if i.name == name)


def counted(function: Function) -> CountedLoop:
    view = cfg_of(function)
    loop = counted_loop(view, loop_forest(view.cfg).loops[0])
    assert isinstance(loop, CountedLoop)
    return loop


Question = Callable[[Value, set[BasicBlock], CountedLoop], object]

QUESTIONS: dict[str, tuple[Question, object]] = {
    "changes_in": (lambda v, inside, _: changes_in(v, inside), False),
    "is_computed_before": (lambda v, inside, _: is_computed_before(v, inside), True),
    "runs.changes": (lambda v, inside, _: changes(v, inside), False),
    "runs._reads": (lambda v, inside, _: _reads(v, inside), False),
    "asked_ahead._is_counted": (lambda v, _, loop: _is_counted(v, loop), True),
    "sums_in_fours._is_counted": (lambda v, _, loop: is_looked_up_in_order(v, loop), True),
    "sums_in_fours._needs": (lambda v, _, loop: _needs(v, set(), loop), False),
    "counts_ahead._is_computed": (lambda v, _, _loop: _is_computed(v), True),
    "counter_banks._moves_on": (lambda v, inside, loop: _moves_on(v, loop.counter.phi, inside), True),
    "triangles._linear": (lambda v, _, loop: _linear(loop, v, {}), None),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_asked_once_of_each_part(name) -> None:
    question, answer = QUESTIONS[name]
    function = loop_of("add")
    last, loop = found(function, f"t{LONG - 1}"), counted(function)
    with at_most(STEPS):
        assert question(last, set(loop.blocks), loop) == answer


def test_steps_are_counted() -> None:
    function = loop_of("add")

    def ways(value: Value) -> int:
        return sum(map(ways, value.operands)) if isinstance(value, Instruction) else 1

    with pytest.raises(TooManyStepsError), at_most(STEPS):
        ways(found(function, f"t{LONG - 1}"))


def test_a_slice_has_each_part_once_in_the_order_of_operands() -> None:
    function = loop_of("sub")
    parts = list(slice_of(found(function, "t3"), lambda i: i.op == "sub"))
    assert [part.name for part in parts] == ["t3", "t2", "t1", "t0", "m", "n"]
    assert [part.name for part in slice_of(found(function, "t3"), lambda i: i.name == "t3")] == [
        "t3",
        "t2",
        "t1",
    ]


def test_products_of_shared_products_name_each_parameter() -> None:
    function = loop_of("mul", "%i", "%m")
    with at_most(STEPS * 10):
        assert straight_rows(function, cfg_of(function)) == {}
    function = read_module("""
define void @f(ptr %a, i64 %n, i64 %m) {
  %i = load i64, ptr %a
  %t = mul i64 %i, %n
  %s = mul i64 %t, %m
  %p = getelementptr float, ptr %a, i64 %s
  %q = getelementptr i8, ptr %p, i64 4
  %x = load float, ptr %p
  store float %x, ptr %q
  ret void
}""").functions["f"]
    assert straight_rows(function, cfg_of(function)) == {2: 4, 1: 4}


def test_equal_sums_are_compared_once() -> None:
    ends = [found(loop_of("add"), f"t{LONG - 1}") for _ in range(2)]
    with at_most(STEPS):
        # Those of another function have other parameters.
        assert not _is_same(*ends)
    function = loop_of("add")
    clones: dict[Value, Value] = {}
    for k in range(LONG):
        old = found(function, f"t{k}")
        new = old.clone()
        for at, operand in enumerate(old.operands):
            new.set_operand(at, clones.get(operand, operand))
        old.block.insert_before(old, new)
        clones[old] = new
    last = found(function, "behind").operands[0]
    with at_most(STEPS):
        assert _is_same(last, clones[last])


def test_sums_of_ints_are_asked_once() -> None:
    function = loop_of("add nsw", type="i32")
    last = found(function, f"t{LONG - 1}")
    with at_most(STEPS):
        assert _is_exact(last)
        assert not _has_product(last)


def test_numbers_have_one_root() -> None:
    function = loop_of("add", "%n", "%n")
    with at_most(STEPS):
        assert root_of(found(function, f"t{LONG - 1}")) is function.args[1]


def test_sums_of_many_parts_are_not_widened() -> None:
    function = read_module(
        "\n".join(
            [
                "define void @f(ptr %a, i32 %n, i64 %m) {",
                "  %t0 = trunc nsw i64 %m to i32",
                "  %t1 = add nsw i32 %t0, %n",
                *(f"  %t{k} = add nsw i32 %t{k - 1}, %t{k - 2}" for k in range(2, LONG)),
                f"  %wide = sext i32 %t{LONG - 1} to i64",
                "  %p = getelementptr float, ptr %a, i64 %wide",
                "  store float 0.0, ptr %p",
                "  ret void",
                "}",
            ]
        )
    ).functions["f"]
    with at_most(STEPS):
        assert widen_addresses(function) == 0
