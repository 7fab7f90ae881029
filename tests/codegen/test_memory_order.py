"""Structures whose members all have the same done to them: loaded and stored as they lie in memory."""

import itertools
import random

import pytest

from codegen.kernels import WORDS, Launch, agree, guarded, kernel_text, level_for, stored, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.structures import loads, member, stores
from codegen.test_forms import lines

FIELDS = (0, 1, 2, 3)


def each(op: str, *operands: str, name: str = "r", count: int = 4) -> str:
    """``%r0``, ``%r1``, ...: an operation on each member; ``#`` is its number."""
    body = ", ".join(operands)
    return "".join(f"  %{name}{k} = {op} {body.replace('#', str(k))}\n" for k in range(count))


def results(name: str = "r", count: int = 4) -> tuple[str, ...]:
    return tuple(f"%{name}{k}" for k in range(count))


def shuffles(body: str, width: int = 16) -> int:
    text = widened(kernel_text(body, DECLARATIONS), width)
    return len([line for line in lines(text, "shufflevector") if "zeroinitializer" not in line])


DECLARATIONS = "declare i32 @llvm.smax.i32(i32, i32)\n"
DOUBLED = loads(4, FIELDS) + each("add i32", "%v#", "%v#")


def test_the_same_operation_on_all_members_needs_no_shuffles() -> None:
    assert shuffles(DOUBLED + stores(4, FIELDS, results())) == 0


def test_stores_in_any_order_of_the_program_need_no_shuffles() -> None:
    assert shuffles(DOUBLED + stores(4, (2, 0, 3, 1), ("%r2", "%r0", "%r3", "%r1"))) == 0


def test_compares_selections_intrinsics_and_uniform_values_need_no_shuffles() -> None:
    body = (
        loads(4, FIELDS) + each("call i32 @llvm.smax.i32(i32", "%v#, i32 %u)")
        + each("icmp slt i32", "%r#", "7", name="c") + each("select i1", "%c#, i32 %v#", "i32 %r#", name="s")
    )  # fmt: skip
    assert shuffles(body + stores(4, FIELDS, results("s"))) == 0


def test_conversions_between_sizes_need_no_shuffles() -> None:
    body = loads(4, FIELDS) + each("trunc i32", "%v# to i16") + stores(4, FIELDS, results(), "i16")
    assert shuffles(body) == 0


def test_members_that_change_places_are_taken_apart() -> None:
    assert shuffles(DOUBLED + stores(4, FIELDS, ("%r1", "%r0", "%r2", "%r3"))) > 0


def test_different_operations_are_in_the_order_of_lanes() -> None:
    one = DOUBLED.replace("%r3 = add", "%r3 = sub")
    assert shuffles(one + stores(4, FIELDS, results())) > 0


def test_different_flags_are_different_operations() -> None:
    one = DOUBLED.replace("%r3 = add", "%r3 = add nsw")
    assert shuffles(one + stores(4, FIELDS, results())) > 0


def test_another_use_of_a_member_keeps_the_order_of_lanes() -> None:
    more = "  %q = getelementptr i32, ptr %out, i64 %n\n  store i32 %r2, ptr %q\n"
    assert shuffles(DOUBLED + stores(4, FIELDS, results()) + more) > 0


def test_values_of_lanes_keep_the_order_of_lanes() -> None:
    body = loads(4, FIELDS) + each("add i32", "%v#", "%t32") + stores(4, FIELDS, results())
    assert shuffles(body) > 0


def test_gaps_keep_the_order_of_lanes() -> None:
    some = loads(4, (0, 1, 2)) + each("add i32", "%v#", "%v#", count=3)
    assert shuffles(some + stores(4, (0, 1, 2), results(count=3))) > 0


def test_divisions_under_a_mask_keep_the_order_of_lanes() -> None:
    body = loads(4, FIELDS, "i64") + each("or i64", "%v#", "1", name="d")
    body += each("udiv i64", "%v#", "%d#") + stores(4, FIELDS, results(), "i64")
    assert shuffles(body) == 0
    assert shuffles(guarded(body)) > 0


OPERATIONS = ("add", "sub", "mul", "and", "or", "xor")


def random_program(seed: int) -> tuple[str, int]:
    """Rows of the same operations, at times with something that spoils it, and threads whose structures are there."""
    rng = random.Random(seed)
    count, type = rng.choice((2, 3, 4, 8)), rng.choice(("i8", "i16", "i32", "i64"))
    which = range(count)
    body = loads(count, which, type)
    rows = ["v"]
    for k in range(rng.randint(1, 4)):
        other = f"%{rng.choice(rows)}#" if rng.random() < 0.7 else str(rng.randint(1, 9))
        body += each(
            f"{rng.choice(OPERATIONS)} {type}", f"%{rng.choice(rows)}#", other, name=f"r{k}x", count=count
        )
        rows.append(f"r{k}x")
    values = [f"%{rows[-1]}{k}" for k in which]
    spoilt = rng.randrange(8)
    if spoilt == 0:
        rng.shuffle(values)
    elif spoilt == 1:
        values[-1] = f"%{rows[0]}0"
    elif spoilt == 2:
        body += f"  %more = add {type} {values[0]}, 3\n"
        values[0] = "%more"
    order = list(which)
    rng.shuffle(order)
    body += stores(count, order, [values[k] for k in order], type)
    threads = min(64, 4 * WORDS // (count * int(type[1:]) // 8))
    return kernel_text(guarded(body) if rng.random() < 0.4 else body), threads


@pytest.mark.parametrize("part", range(4))
def test_random_operations_on_members_mean_the_same_vectorized(part: int) -> None:
    kinds = itertools.cycle(itertools.product(WIDTHS, ISAS))
    for seed, (width, isa) in zip(range(16), kinds, strict=False):
        if seed % 4 == part and level_for(width, isa):
            text, most = random_program(seed)
            agree(text, width, isa, (Launch(most, 20), Launch(most - 3, 5), Launch(1, 1)))


def test_sums_of_members_are_in_the_order_of_lanes() -> None:
    body = loads(2, (0, 1)) + "  %s = add i32 %v0, %v1\n" + stored("%s")
    assert shuffles(body) > 0
    assert shuffles(loads(1, (0,)) + member("%in", 1, 0, "z") + stored("%v0")) == 0
