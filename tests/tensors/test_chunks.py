"""Access groups and chunks: Moll's figures, transpositions of registers, and what is loaded how often."""

import ctypes
import itertools
import math
import mmap
import random
import re

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.codegen.widen import covered
from weft.codegen.widen.bit_permutation import bit_permutation, count_shuffles, permute_registers
from weft.codegen.widen.covered import _Extent, _piece
from weft.frontend.python.typeof import typeof
from weft.ir import Builder, Function, Module
from weft.ir.types import I32, VOID, FunctionType, VectorType
from weft.machine.host import is_runnable


def jacobi(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = 0.2 * (a[j - 1, i] + a[j, i - 1] + a[j, i] + a[j, i + 1] + a[j + 1, i])


def transpose(a, b):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            b[i, j] = a[j, i]


@weft.jit
def cross(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = a[j - 1, i] + 2 * a[j, i - 1] + 3 * a[j, i] + 5 * a[j, i + 1] + 7 * a[j + 1, i]


def sobel(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            x = a[j - 1, i + 1] + a[j, i + 1] + a[j + 1, i + 1] - a[j - 1, i] - a[j, i] - a[j + 1, i]
            b[j, i] = x - a[j - 1, i - 1] - a[j, i - 1] - a[j + 1, i - 1]


def busy(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            x = a[j - 1, i + 1] + a[j, i + 1] + a[j + 1, i + 1] - a[j - 1, i] - a[j, i] - a[j + 1, i]
            x = x - a[j - 1, i - 1] - a[j, i - 1] - a[j + 1, i - 1]
            x = x / (x * x + 1)
            b[j, i] = x / (x * x + 2)


def planes(a, b):
    for k in prange(1, a.shape[0] - 1):
        for j in prange(1, a.shape[1] - 1):
            for i in prange(1, a.shape[2] - 1):
                b[k, j, i] = a[k - 1, j, i] + 2 * a[k, j, i - 1] + 3 * a[k, j, i] + 5 * a[k, j, i + 1]


def at_the_end_of_a_page(shape, dtype):
    """An array with a page behind it that no one may touch, and what gives both back."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, whole + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address + whole), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    array = np.ctypeslib.as_array((ctypes.c_char * size).from_address(address + whole - size)).view(dtype)

    return array.reshape(shape), memory.close


class Shuffled:
    """Builds shuffles, and says which elements they leave in registers."""

    def __init__(self, registers: int, slots: int) -> None:
        self.module = Module("m")
        vector = VectorType(I32, slots)
        self.function = Function(
            "f", FunctionType(VOID, (vector,) * registers), tuple(f"r{k}" for k in range(registers))
        )
        self.module.add_function(self.function)
        self.builder = Builder(self.function.add_block("entry"))
        self.elements = {
            argument: list(range(k * slots, (k + 1) * slots)) for k, argument in enumerate(self.function.args)
        }

    def run(self, sources) -> list[int]:
        slots = len(next(iter(self.elements.values())))
        result = permute_registers(self.builder, self.function.args, sources, slots)
        for instruction in self.function.instructions():
            a, b = (self.elements.get(v, [None] * slots) for v in instruction.operands[:2])
            self.elements[instruction] = [(a + b)[i] for i in instruction.attrs["mask"]]
        return [e for register in result for e in self.elements[register]]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_any_permutation_of_bits(bits) -> None:
    for sources in itertools.permutations(range(bits)):
        mapping = [sum((place >> b & 1) << s for b, s in enumerate(sources)) for place in range(1 << bits)]
        assert bit_permutation(mapping) == list(sources)
        for slot_bits in range(1, bits + 1):
            made = Shuffled(1 << bits - slot_bits, 1 << slot_bits)
            assert made.run(sources) == mapping, (sources, slot_bits)
            count = sum(1 for _ in made.function.instructions())
            assert count == count_shuffles(sources, slot_bits) << bits - slot_bits


def test_eight_by_eight_takes_three_shuffles_a_register() -> None:
    assert count_shuffles([3, 4, 5, 0, 1, 2], 3) == 3


def test_what_is_no_permutation_of_bits() -> None:
    assert bit_permutation([0, 1, 3, 2]) is None
    assert bit_permutation([1, 0]) is None
    assert bit_permutation([0, 0]) is None
    assert bit_permutation([0, 1, 2]) is None


def loads_and_stores(function, brush, projection=None, block=None, origin=(1, 1)) -> tuple[int, int, int]:
    """Vector loads, vector stores, gathers and scatters of the code for whole boxes, before LLVM's pipeline."""
    from weft.brush import brush_of
    from weft.frontend.python.typeof import typeof
    from weft.jit_options import JitOptions
    from weft.loops.build import lower
    from weft.options import Timings

    a = np.zeros((8, 8)) if block is None else weft.tiled(np.zeros((8, 8)), block, origin=origin)
    options = JitOptions(brush=brush_of(brush, projection))
    lowered, _, _ = lower(function, (typeof(a), typeof(a)), None, options, Timings())
    whole = re.search(r"define [^\n]*\.w\d+\"?\(.*?\n}", lowered.text, re.DOTALL)
    assert whole is not None
    text = whole.group()
    loads, stores = (len(re.findall(rf"\b{op} <\d+ x double>", text)) for op in ("load", "store"))
    loads += len(re.findall(r"= call <\d+ x double> @llvm.masked.load", text))
    return loads, stores, text.count("gather") + text.count("scatter")


@pytest.fixture
def avx512(monkeypatch):
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")


def test_figure_11_2_two_rows_share_two_of_ten_loads(avx512) -> None:
    assert loads_and_stores(jacobi, (2, 8)) == (8, 2, 0)


def test_figure_11_6_a_group_of_four_by_four(avx512) -> None:
    # Rows j-1 and j+4 have one piece each, the four between three.
    assert loads_and_stores(jacobi, (4, 4)) == (14, 4, 0)


def test_figure_11_3_and_11_8_a_transposition_in_registers(avx512) -> None:
    assert loads_and_stores(transpose, (4, 4)) == (4, 4, 0)
    assert loads_and_stores(transpose, (8, 8)) == (8, 8, 0)


@pytest.mark.parametrize(
    ("block", "brush", "wanted"),
    # Loads that are one piece each, and others that share what covers their rows.
    [((2, 2), (8, 8), (24, 8, 0)), ((4, 4), (4, 8), (24, 4, 0)), ((2, 8), (8, 8), (30, 8, 0))],
)
def test_rows_that_begin_inside_of_blocks_are_picked_out_of_registers(avx512, block, brush, wanted) -> None:
    assert loads_and_stores(jacobi, brush, block=block) == wanted


def test_figure_11_9_the_footprint_of_two_by_two_is_two_wide_loads_in_blocks(avx512) -> None:
    # Two blocks above and two below: seven elements of each pair are needed, the eighth is masked.
    loads, _, _ = loads_and_stores(jacobi, (2, 2), block=(2, 2), origin=(0, 0))
    assert loads == 2


def test_figure_11_9_rows_are_four_wide_loads_where_shuffles_cost_nothing(avx512, monkeypatch) -> None:
    # They do: of rows, halves of registers are loaded as the lanes need them, which is faster than to shuffle.
    assert loads_and_stores(jacobi, (2, 2)) == (8, 2, 0)
    monkeypatch.setattr(covered, "PICK", 0.0)
    assert loads_and_stores(jacobi, (2, 2)) == (4, 2, 0)


@pytest.mark.parametrize(
    ("function", "brush", "loads"),
    # Rows that are read at three shifts are covered once; the others are loaded as they are.
    [(jacobi, (2, 16), 10), (jacobi, (4, 8), 10), (sobel, (2, 16), 12), (busy, (2, 16), 24)],
)
def test_rows_that_are_read_at_shifts_are_loaded_once(function, brush, loads, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    directly, stores, _ = loads_and_stores(function, brush)
    monkeypatch.setenv("WEFT_CPU", "znver4")
    assert loads_and_stores(function, brush) == (loads, stores, 0)
    assert loads <= directly


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("brush", [(2, 16), (4, 16), (2, 1, 16)])
def test_rows_that_are_loaded_once_end_with_their_array(dtype, brush, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "znver4")
    if not is_runnable():
        pytest.skip("needs AVX-512")
    function = planes if len(brush) == 3 else cross.py_func
    compiled = weft.jit(function, brush=brush)
    for high, wide in itertools.product((6, 9), (34, 71)):
        shape = (high, 4, wide) if len(brush) == 3 else (high, wide)
        a, release = at_the_end_of_a_page(shape, dtype)
        a[...] = np.random.default_rng(1).integers(0, 99, shape)
        b, wanted = np.zeros_like(a), np.zeros_like(a)
        function(a, wanted)
        compiled(a, b)
        assert np.array_equal(b, wanted)
        del a
        release()


@pytest.mark.spread
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("pick", [0.0, covered.PICK])
def test_wide_pieces_have_what_lanes_need(cpu, pick, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    monkeypatch.setattr(covered, "PICK", pick)
    monkeypatch.setattr(covered, "SHUFFLES", min(pick, covered.SHUFFLES))
    monkeypatch.setenv("WEFT_CACHE", "0")
    random = np.random.default_rng(1)
    for dtype, block, brush in [
        (np.float64, None, (2, 2)), (np.float64, (2, 2), (2, 2)), (np.float32, (2, 2), (4, 2)),
        (np.int16, (2, 2), (2, 4)), (np.float32, (4, 4), (2, 8)),
    ]:  # fmt: skip
        a = random.integers(0, 99, (11, 14)).astype(dtype)
        b, wanted = np.zeros_like(a), np.zeros_like(a)
        cross.py_func(a, wanted)
        given = a if block is None else weft.tiled(a, block)
        weft.jit(cross.py_func, brush=brush)(given, b)
        assert np.array_equal(b, wanted), (dtype, block, brush)


def test_figure_11_9_a_row_of_blocks_is_one_piece(avx512) -> None:
    def doubled(a, b):
        for j in prange(1, a.shape[0]):
            for i in prange(1, a.shape[1]):
                b[j, i] = a[j, i] * 2

    assert loads_and_stores(doubled, (2, 4)) == (2, 2, 0)
    assert loads_and_stores(doubled, (2, 4), block=(2, 2)) == (1, 1, 0)
    assert loads_and_stores(doubled, (2, 4), (0, 1), (2, 2)) == (1, 1, 0)


@pytest.mark.parametrize("projection", [(1, 0), (0, 1)])
def test_projections_move_the_shuffles_only(avx512, projection) -> None:
    assert loads_and_stores(transpose, (8, 8), projection) == (8, 8, 0)


def test_a_store_ends_what_has_been_loaded() -> None:
    @weft.jit(brush=(4, 8))
    def twice(a, b):
        for j in prange(a.shape[0]):
            for i in prange(a.shape[1]):
                x = a[j, i]
                a[j, i] = x + 1
                b[j, i] = a[j, i] * 2 + x

    a = np.random.default_rng(1).integers(0, 9, (13, 19)).astype(float)
    before, b = a.copy(), np.zeros_like(a)
    twice(a, b)
    assert np.array_equal(a, before + 1)
    assert np.array_equal(b, (before + 1) * 2 + before)


def test_what_lies_between_elements_is_loaded_again_where_it_has_been_written() -> None:
    # A row of blocks of 2 by 2 has the elements of two rows in turns: one is read, then the other is written.
    @weft.jit(brush=(2, 8))
    def pairs(a, b, c):
        for j in prange(0, a.shape[0] - 1, 2):
            for i in prange(1, a.shape[1]):
                x = a[j, i]
                a[j + 1, i] = x + 1
                b[j, i] = x
                c[j, i] = a[j + 1, i]

    a = np.random.default_rng(1).integers(0, 9, (8, 34)).astype(float)
    given, b, c = weft.tiled(a, (2, 2)), np.zeros_like(a), np.zeros_like(a)
    pairs(given, b, c)
    assert np.array_equal(c[::2, 1:], a[::2, 1:] + 1)
    assert np.array_equal(given.to_array()[1::2, 1:], a[::2, 1:] + 1)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex64, np.int64])
def test_transpositions_of_other_types(dtype) -> None:
    rng = random.Random(1)
    for _ in range(3):
        brush = rng.choice([(4, 4), (8, 8), (2, 16), (16, 2)])
        projection = rng.choice([(0, 1), (1, 0)])
        a = np.random.default_rng(1).integers(0, 99, (33, 21)).astype(dtype)
        b = np.zeros((21, 33), dtype)
        weft.jit(transpose, brush=brush, projection=projection)(a, b)
        assert np.array_equal(b, a.T), (brush, projection)


@pytest.mark.parametrize("options", [{}, {"brush": (4, 8)}, {"brush": (4, 8), "projection": (0, 1)}])
def test_what_other_lanes_write_before_a_barrier_is_loaded_again(options) -> None:
    @cuda.jit(**options)
    def moved(a, b, c):
        tile = cuda.shared.array((4, 9), np.float64)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = a[y, x]
        cuda.syncthreads()
        before = tile[y, x]
        cuda.syncthreads()
        tile[y, x + 1] = before * 10
        cuda.syncthreads()
        b[y, x] = tile[y, x]
        c[y, x] = before

    a = np.arange(32.0).reshape(4, 8)
    b, c = np.zeros_like(a), np.zeros_like(a)
    moved[1, (8, 4)](a, b, c)
    assert np.array_equal(c, a)
    assert np.array_equal(b[:, 1:], a[:, :-1] * 10)
    assert np.array_equal(b[:, 0], a[:, 0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("elements", [1, 7, 8, 23, 40])
def test_pieces_are_registers_then_the_rest(elements: int, size: int, masked: bool) -> None:
    extent = _Extent(100, 100 + elements * size, 1, False)
    pieces = list(dict.fromkeys(_piece(extent, 100 + k * size, size, 8, masked) for k in range(elements)))
    rest = [b for b in (4, 2, 1) if elements % 8 & b]
    if masked and rest:
        rest = [elements % 8]
    assert [length for _, length in pieces] == [8] * (elements // 8) + rest
    assert [begin for begin, _ in pieces] == [
        100 + size * sum(length for _, length in pieces[:k]) for k in range(len(pieces))
    ]


def test_pieces_of_far_lanes_are_found_at_once() -> None:
    """An index of 32 bits that wraps around puts a lane 12 GiB away."""
    extent = _Extent(0, 3 * 2**32 - 30, 2, False)
    assert _piece(extent, 3 * 2**32 - 39, 1, 32, False) == (3 * 2**32 - 64, 32)
    assert _piece(extent, 3 * 2**32 - 31, 1, 32, False) == (3 * 2**32 - 32, 2)


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize(
    ("function", "brush", "said"),
    [
        (
            jacobi,
            (2, 16),
            "a box of 32 iterations loads 16 registers, stores 4 and takes 0 shuffles of a register",
        ),
        (
            jacobi,
            (4, 8),
            "a box of 32 iterations loads 14 registers, stores 4 and takes 0 shuffles of a register",
        ),
        (
            transpose,
            (8, 8),
            "takes 24 shuffles of a register: 0.12 loads and 0.38 shuffles for each iteration",
        ),
    ],
)
def test_the_report_has_loads_and_shuffles_of_a_box(function, brush, said, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    compiled = weft.jit(function, brush=brush)
    a = typeof(np.zeros((8, 8)))
    compiled.compile((a, a))
    assert said in " ".join(map(str, compiled.remarks))


@pytest.mark.usefixtures("looked_at")
def test_no_box_no_remark_of_boxes() -> None:
    compiled = weft.jit(jacobi, brush=(1, 8))
    a = typeof(np.zeros((8, 8)))
    compiled.compile((a, a))
    assert "a box of 8 iterations loads" not in " ".join(map(str, compiled.remarks))
