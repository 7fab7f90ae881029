"""Stores that go to several rows by turns go row by row where that is the same, and memory holds what it held."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.rows_in_turn import store_row_by_row

MIDDLE = 512
"""Elements on either side of the thread's first one."""

INDEX = {
    "i64": "  %r{k} = add i64 %t, {row}\n  %m{k} = mul i64 %r{k}, %n\n  %i{k} = add i64 %m{k}, {column}\n",
    "i32": "  %r{k} = add nsw i32 %s, {row}\n  %m{k} = mul nsw i32 %r{k}, %n\n  %j{k} = add nsw i32 %m{k}, {column}\n"
    "  %i{k} = sext i32 %j{k} to i64\n",
}


def storing(places: list[tuple[int, int]], bits: str = "i64", between: str = "") -> Function:
    """A function that stores numbers from 1 on to rows and columns, `between` the first and the second as well."""
    lines = []
    for k, (row, column) in enumerate(places):
        lines.append(INDEX[bits].format(k=k, row=row, column=column))
        lines.append(f"  %p{k} = getelementptr i16, ptr %out, i64 %i{k}\n  store i16 {k + 1}, ptr %p{k}\n")
        lines.append(between if not k else "")
    module = read_module(f"""
define void @stored(ptr %out, ptr %other, i64 %t, {bits} %n) {{
entry:
  %own = alloca i16
  %s = trunc i64 %t to i32
{"".join(lines)}  ret void
}}
""")
    verify(module)
    return next(module.definitions())


def what_is_left(function: Function, length: int, bits: str = "i64", thread: int = 3) -> list[int]:
    """Memory behind a thread: two might store to the same place, in any order."""
    memory, out = Memory(), np.full(2 * MIDDLE, -1, np.int16)
    place = memory.map_array(out) + 2 * MIDDLE
    number = np.full(1, length, np.int64 if bits == "i64" else np.int32)
    assert function.module is not None
    arguments = [place, place, np.array([thread]), number]
    run_function(Program(function.module), function.name, arguments, 1, memory=memory)
    return out.tolist()


BLOCK = [(row, column) for column in range(4) for row in (0, 2, 1, 3)]


@pytest.mark.parametrize("bits", ["i64", "i32"])
def test_a_block_by_columns_is_stored_by_rows_where_rows_are_long(bits: str) -> None:
    function, before = storing(BLOCK, bits), storing(BLOCK, bits)
    assert store_row_by_row(function) == 16
    verify(function.module)
    rows = next(b for b in function.blocks if b.name.endswith(".rows"))
    values = [i.operands[0].signed for i in rows.instructions if i.op == "store"]
    assert values == [1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16]
    for length in (*range(-3, 9), 40):
        assert what_is_left(function, length, bits) == what_is_left(before, length, bits), length


def test_the_length_that_is_asked_for_is_the_least_that_will_do() -> None:
    """Rows 0 and 1 meet in column 3 where rows have three elements, and rows 0 and 2 where they have one."""
    function = storing(BLOCK)
    store_row_by_row(function)
    (question,) = (i for i in function.instructions() if i.op == "sub")
    assert question.operands[1].signed == 4


@pytest.mark.parametrize(
    ("places", "between", "why"),
    [
        ([(0, 0), (0, 1), (1, 0), (1, 1)], "", "row by row as it is"),
        ([(0, 0), (1, 0)], "", "one store to each row"),
        ([(0, 0), (1, 0), (0, 40), (1, 40)], "", "far from each other"),
        ([(0, 0), (1, 0), (0, 0), (1, 1)], "", "twice to one place"),
        (BLOCK[:8], "  %v = load i16, ptr %other\n", "read between"),
        (BLOCK[:8], "  fence seq_cst\n", "others are told between"),
        (BLOCK[:8], "  store i16 7, ptr %other\n", "stored to between"),
    ],
)
def test_other_stores_stay(places: list[tuple[int, int]], between: str, why: str) -> None:
    behind = between and len(places) == 8
    assert store_row_by_row(storing(places[:5] if behind else places, between=between)) == 0, why


def test_what_a_thread_has_for_itself_may_be_read_and_written_in_between() -> None:
    own = "  store i16 7, ptr %own\n  %v = load i16, ptr %own\n  %w = getelementptr i16, ptr %own, i64 0\n"
    assert store_row_by_row(storing(BLOCK, between=own)) == 16


@given(
    places=st.lists(st.tuples(st.integers(-2, 3), st.integers(-3, 4)), min_size=3, max_size=12),
    length=st.integers(-5, 12),
    bits=st.sampled_from(["i64", "i32"]),
)
def test_memory_holds_the_same_behind_any_stores(
    places: list[tuple[int, int]], length: int, bits: str
) -> None:
    function, before = storing(places, bits), storing(places, bits)
    store_row_by_row(function)
    verify(function.module)
    assert what_is_left(function, length, bits) == what_is_left(before, length, bits)


def test_rows_so_long_that_their_places_wrap_around_stay_by_turns() -> None:
    """Four rows of 2^62 elements are 2^64 elements, and so none."""
    places = [(0, 0), (4, 1), (0, 1), (4, 0)]
    function = storing(places)
    assert store_row_by_row(function) == 4
    out = what_is_left(function, 1 << 62, thread=4)
    assert out[MIDDLE : MIDDLE + 2] == [4, 3]
    assert out == what_is_left(storing(places), 1 << 62, thread=4)


def _blocks(source, n, out):
    i = cuda.grid(1)
    if 4 * i + 3 < n or n < 4:
        for c in range(4):
            for r in range(4):
                out[r * n + 4 * i + c] = source[4 * r + c] + i


@pytest.mark.spread
@pytest.mark.parametrize("length", [0, 2, 3, 4, 32])
@pytest.mark.parametrize("width", [1, None])
def test_kernels_store_blocks_into_rows_of_any_length(length: int, width: int | None) -> None:
    source = np.arange(16, dtype=np.int16) * 100
    threads = max(length // 4, 1)
    wanted, out = np.full((2, 4 * length + 16), -1, np.int16)
    cuda.jit(without=("rows-in-turn",))(_blocks)[1, threads](source, length, wanted)
    cuda.jit(width=width)(_blocks)[1, threads](source, length, out)
    assert (out == wanted).all()
    if length >= 4:
        block = np.arange(16).reshape(4, 4) * 100
        assert (out[: 4 * length].reshape(4, length)[:, :4] == block).all()
