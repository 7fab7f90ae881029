"""Brushes that the cost model chooses."""

import re

import numpy as np
import pytest

import weft
from tensors.test_brush import jacobi, shared_row, transposed
from weft import prange
from weft.brush import AUTO
from weft.codegen.parallel.brush_choice import candidates, is_of_one_loop
from weft.diag.errors import SignatureError
from weft.frontend.python.typeof import typeof
from weft.ir.reader import read_module
from weft.jit_options import JitOptions
from weft.loops.build import lower
from weft.machine.host import is_runnable
from weft.machine.targets import Isa
from weft.options import Timings
from weft.target.machine import TargetSpec

SHAPE = (19, 45)


def nine(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            total = a[j - 1, i - 1] + a[j - 1, i] + a[j - 1, i + 1] + a[j, i - 1] + a[j, i] + a[j, i + 1]
            b[j, i] = total + a[j + 1, i - 1] + a[j + 1, i] + a[j + 1, i + 1]


def crossing(a, b):
    for j in prange(2, a.shape[0] - 2):
        for i in prange(2, a.shape[1] - 2):
            total = a[j - 2, i] + a[j - 1, i] + a[j, i] + a[j + 1, i] + a[j + 2, i]
            total += a[j - 1, i - 1] + a[j - 1, i + 1] + a[j + 1, i - 1] + a[j + 1, i + 1]
            b[j, i] = total + a[j, i - 2] + a[j, i - 1] + a[j, i + 1] + a[j, i + 2]


def run(function):
    chosen = weft.jit(function, brush="auto")
    a, b = np.random.default_rng(1).random(SHAPE), np.zeros(SHAPE)
    wanted = b.copy()
    chosen(a, b)
    function(a, wanted)
    assert np.allclose(b, wanted, rtol=1e-13)
    return " ".join(str(r) for r in chosen.remarks)


def test_stencils_take_several_rows() -> None:
    remarks = run(crossing)
    if TargetSpec.chosen().isa.vector_bits < 512:
        # Of registers of two or four doubles the model expects nothing of it; the result is right.
        return
    assert "as a box of" in remarks and "of the inner loop alone by the cost model" in remarks


@pytest.mark.usefixtures("looked_at")
def test_nests_get_a_brush_by_default(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    a = np.zeros((9, 20))

    def remarks(**options) -> str:
        compiled = weft.jit(crossing, **options)
        compiled.compile((typeof(a), typeof(a)))
        return " ".join(map(str, compiled.remarks))

    assert "as a box of" in remarks()
    assert "as a box of" not in remarks(brush=False)
    assert "as a box of" not in remarks(width=8)


def weft_ir(function) -> str:
    a = typeof(np.zeros((8, 8)))
    return lower(function, (a, a), None, JitOptions(brush=AUTO), Timings())[0].text


@pytest.mark.parametrize(
    ("function", "row", "version"), [(jacobi, 96, "none"), (nine, 256, "rows"), (crossing, 256, "box")]
)
def test_nests_that_wait_for_memory_run_along_one_loop(function, row, version, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    monkeypatch.setattr("weft.costs.streams.NEAR_BYTES", 16 * 100 * 100)
    compiled = weft.jit(function)
    a = np.random.default_rng(1).random((row, row))
    b, wanted = np.zeros_like(a), np.zeros_like(a)
    compiled(a, b)
    function(a, wanted)
    assert np.allclose(b, wanted, rtol=1e-13)
    remarks = " ".join(map(str, compiled.remarks))
    assert ("as a box of" in remarks) == (version != "none")
    assert ("one register, as it waits for memory" in remarks) == (version != "box")
    loop = re.search(r"icmp ule i64 %[^,]*, 10000\b", weft_ir(function))
    assert (loop is not None) == (version == "rows")


def products(a, b):
    for n in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            for i in prange(a.shape[2]):
                b[n, j, i] = a[n, j, 0] * a[n, 0, i] + a[n, j, 1] * a[n, 1, i]


@pytest.mark.parametrize("shape", [(0, 0), (3, 3), (4, 40), (40, 4), (5, 17), (30, 31)])
def test_nests_smaller_than_their_box_run_along_one_loop(shape, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    compiled = weft.jit(nine)
    a = np.random.default_rng(1).random(shape)
    b, wanted = np.zeros(shape), np.zeros(shape)
    compiled(a, b)
    nine(a, wanted)
    assert np.allclose(b, wanted, rtol=1e-13)
    remarks = [str(r) for r in compiled.remarks if "at a time" in str(r)]
    assert len(remarks) == 2
    assert "as a box of" in remarks[0]
    assert "where the nest is smaller than its box" in remarks[1]


@pytest.mark.usefixtures("looked_at")
def test_two_registers_of_a_row_are_no_reason_for_a_box(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    compiled = weft.jit(products)
    a = typeof(np.zeros((9, 4, 4), np.float32))
    compiled.compile((a, a))
    boxes = [str(r) for r in compiled.remarks if "as a box of" in str(r)]
    assert all("its innermost loop has few iterations" in box for box in boxes)


def test_what_is_chosen_has_two_rows_at_most_where_rows_are_read(weighed) -> None:
    found = weighed(jacobi)
    assert any(w.competes for w in found)
    assert {w.competes for w in found if w.brush.extents[0] <= 2} == {False}
    assert {w.competes for w in found if w.brush.extents[0] > 2} == {True}


@pytest.fixture
def weighed(monkeypatch):
    """Weighs the brushes of a nest over two arrays, for AVX-512."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    monkeypatch.setenv("WEFT_CHECK", "0")

    def weigh(function, dtype=np.float64):
        type = typeof(np.zeros((8, 8), dtype))
        return lower(function, (type, type), None, JitOptions(brush=AUTO), Timings())[0].weighed

    return weigh


def test_transpositions_take_squares(weighed) -> None:
    from tensors.test_chunks import transpose

    found = weighed(transpose)
    assert str(found[0].brush) == "8x8"
    assert found[0].cycles < min(w.cycles for w in found if is_of_one_loop(w.brush)) / 2


def test_rows_shorter_than_a_register_are_for_gathers(weighed) -> None:
    from tensors.test_chunks import transpose

    assert min(w.brush.extents[-1] for w in weighed(transpose)) == 1
    assert min(w.brush.extents[-1] for w in weighed(jacobi)) == 8


def looked_up(a, b):
    for j in prange(b.shape[0]):
        for i in prange(b.shape[1]):
            b[j, i] = a[int(b[j, i]) & 7, 0]


def nearest(a, b):
    for j in prange(b.shape[0]):
        for i in prange(b.shape[1]):
            found = 0
            for k in range(1, a.shape[0]):
                if abs(a[k, 0] - b[j, i]) < abs(a[found, 0] - b[j, i]):
                    found = k
            b[j, i] = a[found, 1]


def clamped_column(a, b):
    for j in prange(b.shape[0]):
        for i in prange(b.shape[1]):
            b[j, i] = a[min(max(i - 1, 0), a.shape[0] - 1), int(b[j, i]) & 7]


@pytest.mark.parametrize(
    ("function", "turned"), [(looked_up, False), (nearest, False), (clamped_column, True)]
)
def test_what_is_looked_up_is_gathered_in_any_box(function, turned, weighed) -> None:
    assert (min(w.brush.extents[-1] for w in weighed(function)) < 8) == turned


@pytest.mark.parametrize(
    ("mask", "shuffles"), [([0] * 32, 1), (list(range(32)), 0), ([*range(16, 32), *range(16)], 0)]
)
def test_a_number_in_all_lanes_is_one_register(mask, shuffles) -> None:
    from weft.costs.vector_code import vector_costs
    from weft.machine.targets import ISAS

    lanes = ", ".join(f"i32 {m}" for m in mask)
    text = f"""
define <32 x float> @f(<32 x float> %a) {{
  %b = shufflevector <32 x float> %a, <32 x float> poison, <32 x i32> <{lanes}>
  ret <32 x float> %b
}}
"""
    function = read_module(text).functions["f"]
    assert vector_costs(function, next(i for i in ISAS if i.vector_bits == 512)).shuffles == shuffles


@pytest.mark.parametrize(("lanes", "more"), [(32, 0.0), (64, 2 * 64.0)])
def test_masks_for_other_blocks_are_taken_apart_where_they_are_long(lanes: int, more: float) -> None:
    """LLVM keeps 32 lanes of a mask in a register on AVX2, from block to block; 64 in a mask register."""
    from weft.costs.vector_code import vector_costs
    from weft.machine.targets import AVX2, AVX512

    def others(body: str, isa: Isa) -> float:
        text = f"define <{lanes} x i8> @f(<{lanes} x i8> %a, <{lanes} x i8> %b) {{\n{body}\n}}"
        return vector_costs(read_module(text).functions["f"], isa).others

    compare = f"%m = icmp ult <{lanes} x i8> %a, %b"
    choose = f"%r = select <{lanes} x i1> %m, <{lanes} x i8> %a, <{lanes} x i8> %b\nret <{lanes} x i8> %r"
    apart, together = f"{compare}\nbr label %next\nnext:\n{choose}", f"{compare}\n{choose}"
    assert others(apart, AVX2) == others(together, AVX2) + more
    assert others(apart, AVX512) == others(together, AVX512)


def test_patterns_looked_up_in_registers_run_along_rows() -> None:
    """Boxes of several rows would gather from a pattern of 8 x 8, which repeats along a row."""

    @weft.jit
    def dithered(a, pattern, out):
        for y in prange(a.shape[0]):
            for x in range(a.shape[1]):
                out[y, x] = 255 if a[y, x] > pattern[y & 7, x & 7] else 0

    random = np.random.default_rng(3)
    a, pattern = random.integers(0, 256, (19, 77), "u1"), random.integers(0, 256, (8, 8), "u1")
    out = np.zeros_like(a)
    dithered(a, pattern, out)
    assert np.array_equal(out, np.where(a > np.tile(pattern, (3, 10))[:19, :77], 255, 0))
    chosen = " ".join(r.message for r in dithered.remarks if "by the cost model" in r.message)
    assert "as a box" not in chosen


def test_loops_that_are_no_nest_are_left_alone() -> None:
    @weft.jit(brush="auto")
    def scaled(a, b):
        for i in prange(a.shape[0]):
            b[i] = 2 * a[i]

    a, b = np.arange(5.0), np.zeros(5)
    scaled(a, b)
    assert np.array_equal(b, 2 * a)
    assert "brush" not in " ".join(map(str, scaled.remarks))


@pytest.mark.parametrize("function", [transposed, shared_row])
def test_what_is_chosen_is_right(function) -> None:
    run(function)


def test_candidates_fill_registers() -> None:
    for levels in (2, 3):
        alone, kinds = candidates(8, levels)
        found = [*alone, *(brush for kind in kinds for brush in (*kind.first, *kind.others))]
        assert len({b.extents for b in found}) == len(found)
        assert all(8 <= b.width <= 64 and b.rank == levels for b in found)
        assert is_of_one_loop(found[0])


def test_auto_goes_with_no_other_choice() -> None:
    with pytest.raises(SignatureError, match="the brush is chosen"):
        weft.jit(jacobi, brush="auto", width=8)


def test_measuring_leaves_arguments_alone_and_is_remembered(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("weft.runtime.tuning.SECONDS", 0.001)

    @weft.jit(brush="auto", tune="measure")
    def counted(a, b):
        for j in prange(1, a.shape[0] - 1):
            for i in prange(a.shape[1]):
                b[j, i] += a[j - 1, i] + a[j + 1, i]

    a, b = np.ones(SHAPE), np.zeros(SHAPE)
    counted(a, b)
    assert b[1:-1].min() == b.max() == 2
    (chosen,) = counted.overloads.values()

    def never(*_):
        raise AssertionError("measured again")

    monkeypatch.setattr("weft.loops.tuning.fastest", never)
    again = weft.jit(counted.py_func, brush="auto", tune="measure")
    again(a, b)
    assert b.max() == 4
    assert next(iter(again.overloads.values())).options.brush == chosen.options.brush


def test_tune_is_for_auto() -> None:
    with pytest.raises(SignatureError, match="tune="):
        weft.jit(jacobi, brush=(2, 8), tune="measure")
    with pytest.raises(SignatureError, match="tune="):
        weft.jit(jacobi, brush="auto", tune="guess")


@pytest.mark.parametrize(
    ("cycles", "gains", "most", "compete"),
    [(1.0, False, None, True), (2.0, True, 131072, True), (4.0, True, None, True), (6.0, True, None, False)],
)
def test_what_nests_get_from_memory(cycles, gains, most, compete) -> None:
    from weft.costs.streams import Streams, streams
    from weft.machine.cores import core_of

    text = """
define void @f(ptr %a, ptr %b, i64 %i) {
  %p = getelementptr double, ptr %a, i64 %i
  %q = getelementptr i8, ptr %p, i64 8
  %r = getelementptr double, ptr %b, i64 %i
  %v = load double, ptr %p
  %w = load double, ptr %q
  %s = fadd double %v, %w
  store double %s, ptr %r
  ret void
}
"""
    module = read_module(text)
    accesses = [i for i in module.functions["f"].instructions() if i.is_plain_access]
    if not gains:
        assert not streams(accesses, cycles, module.layout, core_of("x86-64-v4")).gains
    else:
        assert streams(accesses, cycles, module.layout, core_of("x86-64-v4")) == Streams(True, most, compete)
    assert streams(accesses, cycles, module.layout, core_of("znver5")) == Streams(by_distance=True)


def sparse(a, b):
    for j in prange(2, a.shape[0] - 2):
        for i in prange(2, a.shape[1] - 2):
            b[j, i] = 0.2 * (a[j - 2, i] + a[j, i - 2] + a[j, i] + a[j, i + 2] + a[j + 2, i])


def counting_down(a, b):
    for j in prange(a.shape[0] - 2, 0, -1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = a[j - 1, i] + 2 * a[j, i - 1] + 3 * a[j, i] + 5 * a[j, i + 1] + 7 * a[j + 1, i]


@pytest.mark.parametrize("function", [jacobi, sparse, nine, counting_down])
def test_rows_that_compete_have_a_version_of_two(function, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "znver4")
    compiled = weft.jit(function)
    compiled.compile((typeof(np.zeros((9, 9))),) * 2)
    boxes = [re.search(r"as a box of (\d+)x", str(r)) for r in compiled.remarks]
    rows = [int(found[1]) for found in boxes if found]
    assert len(rows) == 2
    assert rows[0] > 2 >= rows[1]
    assert any("compete for the same places of the cache" in str(r) for r in compiled.remarks)
    if not is_runnable():
        return
    # Of 256, 258, 300 and 512 doubles a row; no rows, one, and fewer than a box has.
    for shape in [(40, 256), (21, 258), (23, 300), (9, 512), (0, 300), (1, 256), (3, 256), (6, 300), (40, 9)]:
        a = np.random.default_rng(1).random(shape)
        b, wanted = np.zeros(shape), np.zeros(shape)
        compiled(a, b)
        function(a, wanted)
        assert np.allclose(b, wanted, rtol=1e-13)


@pytest.mark.usefixtures("looked_at")
def test_addresses_that_are_loaded_have_no_version(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "znver4")

    @weft.jit
    def indirect(a, b, rows):
        for j in prange(1, a.shape[0] - 1):
            for i in prange(1, a.shape[1] - 1):
                r = rows[j]
                b[j, i] = 0.2 * (a[r, i - 1] + a[r, i] + a[r, i + 1] + a[j - 1, i] + a[j + 1, i])

    a = typeof(np.zeros((9, 9)))
    indirect.compile((a, a, typeof(np.zeros(9, np.int64))))
    assert not any("compete for" in str(r) for r in indirect.remarks)


def nearest_shift(left, right, shifts):
    for y in prange(left.shape[0] - 2):
        for x in prange(left.shape[1] - 6):
            best, found = 1 << 30, 0
            for shift in range(4):
                total = 0
                for dy in range(3):
                    for dx in range(3):
                        apart = int(left[y + dy, x + dx]) - int(right[y + dy, x + dx + shift])
                        total += apart * apart
                if total < best:
                    best, found = total, shift
            shifts[y, x] = found


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("brush", [AUTO, (2, 8)])
def test_numbers_are_narrow_in_boxes(level, brush, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    chosen = weft.jit(nearest_shift, brush=brush)
    rng = np.random.default_rng(2)
    left, right = (rng.integers(0, 256, (17, 60)).astype(np.uint8) for _ in range(2))
    shifts, wanted = np.zeros((17, 60), np.int32), np.zeros((17, 60), np.int32)
    nearest_shift(left, right, wanted)
    chosen(left, right, shifts)
    assert (shifts == wanted).all()
    remarks = [remark.message for remark in chosen.remarks]
    assert any("are computed in 8 or 16 bits" in message for message in remarks)
    box = next((at for at, message in enumerate(remarks) if "as a box of" in message), None)
    if brush != AUTO:
        # The next remark that tells what runs is of another loop.
        assert box is not None
        behind = remarks[box + 1 :]
        ends = next((at for at, m in enumerate(behind) if m.startswith("this loop runs")), len(behind))
        assert any("are computed in 8 or 16 bits" in message for message in behind[:ends])
