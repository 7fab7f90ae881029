"""The shape of the emitted code: what later analyses rely on."""

import enum
import re

import numpy as np
import pytest

from frontend.kernels import compiled, text_of
from weft import cuda
from weft.ir.metadata import MDNode
from weft.ir.writer import write_module

VECTOR = np.zeros(8, np.float32)
MATRIX = np.zeros((4, 4), np.float32)


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def stencil(x, y):
    row, column = cuda.grid(2)
    if 0 < row < x.shape[0] - 1 and column > 0 and column < x.shape[1] - 1:
        y[row, column] = x[row - 1, column] + x[row, column - 1] - 2 * x[row, column]


def blur(x, y, radius):
    i = cuda.grid(1)
    if i >= x.size:
        return
    total = 0.0
    for k in range(-radius, radius + 1):
        total += x[min(max(i + k, 0), x.size - 1)]
    y[i] = total / (2 * radius + 1)


def reduce_tile(x, out):
    tile = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, tile[0])


@pytest.mark.parametrize(
    ("kernel", "examples"),
    [(saxpy, (2.0, VECTOR, VECTOR)), (stencil, (MATRIX, MATRIX)), (blur, (VECTOR, VECTOR, 2)),
     (reduce_tile, (VECTOR, VECTOR))],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_text_of_typical_kernels(kernel, examples, golden) -> None:
    golden(text_of(kernel, *examples), f"{kernel.__name__}.ll")


def _selects(kernel, *examples) -> int:
    """How many choices between two integers a kernel makes, as the wrapping of an index is one."""
    return len(re.findall(r"select i1 \S+, i64", text_of(kernel, *examples)))


def test_ids_sizes_and_counters_index_without_wrapping() -> None:
    def kernel(x):
        i = cuda.grid(1)
        x[i] = x[cuda.threadIdx.x] + x[x.size // 2] + x[i % 4] + x[i + 1]
        for k in range(1, 5):
            x[k - 1] = x[k * 2]

    assert _selects(kernel, VECTOR) == 0


def test_an_index_that_may_be_negative_is_wrapped() -> None:
    def kernel(x, j):
        x[j] = 1
        x[cuda.grid(1) - 1] = 2

    assert _selects(kernel, VECTOR, 3) == 2


def test_literal_negative_indices_cost_no_select() -> None:
    def kernel(x):
        x[-1] = x[-2]

    assert _selects(kernel, VECTOR) == 0


@pytest.mark.parametrize("index", ["guarded", "returned", "short_circuit", "choice"])
def test_conditions_that_exclude_negative_indices_are_seen(index: str) -> None:
    def guarded(x, j):
        if j > 0:
            x[j - 1] = 0

    def returned(x, j):
        if j < 1 or j > 7:
            return
        x[j - 1] = 0

    def short_circuit(x, j):
        if j >= 1 and x[j - 1] > 0:
            x[0] = 0

    def choice(x, j):
        x[0] = x[j - 2] if j > 1 else 0.0

    assert _selects(locals()[index], VECTOR, 3) == 0


def test_a_condition_on_a_variable_that_changes_is_not_relied_on() -> None:
    def kernel(x, j):
        if j > 0:
            j -= 5
            x[j] = 0

    assert _selects(kernel, VECTOR, 3) == 1


def test_a_condition_on_a_float_says_nothing_of_integers() -> None:
    def kernel(x, i, f):
        if f > 0 and i > f:
            x[i - 1] = 0

    assert _selects(kernel, VECTOR, 3, 0.5) == 1


def test_a_counter_that_falls_below_zero_is_wrapped() -> None:
    def kernel(x):
        k = 3
        while k > -3:
            x[k] = 0
            k -= 1

    assert _selects(kernel, VECTOR) == 1


def test_division_that_cannot_fail_has_no_guards() -> None:
    def kernel(x):
        i = cuda.grid(1)
        x[i // cuda.blockDim.x] = i % 8 + i // 3

    text = text_of(kernel, VECTOR)
    assert " select " not in text and "srem" not in text


def test_bounds_after_wrapping_arithmetic_are_not_trusted_in_division() -> None:
    def kernel(x):
        i = cuda.grid(1)
        x[0] = 7 // (i * i + 1)

    assert _selects(kernel, VECTOR) > 0


def test_only_debug_mode_checks() -> None:
    def kernel(x, n):
        assert n > 0
        x[n] = 5 // n

    assert "weft.check" not in text_of(kernel, VECTOR, 2)
    kinds = [f"weft.check(i32 {kind}," for kind in (1, 2, 3)]
    text = text_of(kernel, VECTOR, 2, debug=True)
    assert all(kind in text for kind in kinds)


def test_fast_math_flags_are_on_floating_operations() -> None:
    def kernel(x):
        x[0] = x[1] * x[2] + x[3]

    assert "fadd fast" in text_of(kernel, VECTOR, fastmath=True)
    assert "fmul contract" in text_of(kernel, VECTOR, fastmath={"contract"})
    assert "fast" not in text_of(kernel, VECTOR)


def test_arguments_become_data_extents_and_strides() -> None:
    def kernel(c, a, flag, z):
        c[0, 0] = a[0] + z.real + flag

    result = compiled(kernel, MATRIX, VECTOR[::2], True, 1j)
    roles = [[c.role for c in param.components] for param in result.params]
    assert roles == [["data", "extent", "extent"], ["data", "extent", "stride"], ["value"], ["real", "imag"]]
    assert [param.first for param in result.params] == [0, 3, 6, 7]
    assert len(result.kernel.args) == 9
    assert str(result.kernel.args[6].type) == "i8"


def test_shared_arrays_are_numbered_and_listed() -> None:
    def kernel(x):
        a = cuda.shared.array((4, 4), np.float32)
        b = cuda.shared.array(8, np.int64)
        a[1, 2] = x[0]
        b[0] = 1

    result = compiled(kernel, VECTOR)
    assert [shared.size for shared in result.shared] == [64, 64]
    assert result.kernel.attribute("weft.shared") == "64:64,64:64"


def test_features_tell_what_a_kernel_needs() -> None:
    def plain(x):
        x[0] = 1

    def barrier(x):
        dynamic = cuda.shared.array(0, np.float32)
        dynamic[0] = x[0]
        cuda.syncthreads()

    def warp(x):
        x[0] = cuda.ballot_sync(0xFFFFFFFF, x[1] > 0)

    assert not compiled(plain, VECTOR).features
    result = compiled(barrier, VECTOR)
    assert result.features == {"barrier", "dynamic_shared"} and not result.uses_horizontal
    assert compiled(warp, VECTOR).uses_horizontal


def test_variables_and_arguments_have_their_names_in_debug_information() -> None:
    result = compiled(blur, VECTOR, VECTOR, 2)
    records = [r for i in result.kernel.instructions() for r in i.debug_records]
    names = {r.variable.text("name") for r in records if isinstance(r.variable, MDNode)}
    assert {"x", "y", "radius", "i", "total", "k"} <= names


def test_every_instruction_of_the_body_has_a_line_of_the_source() -> None:
    result = compiled(blur, VECTOR, VECTOR, 2)
    first = blur.__code__.co_firstlineno
    for block in result.kernel.blocks[1:]:
        for instruction in block:
            assert instruction.loc is not None
            assert first <= instruction.loc.line <= first + 7


def test_what_a_discarded_walk_declared_is_not_in_the_module() -> None:
    def kernel(x):
        s = 0
        for v in x:
            s = max(abs(s), v)
        x[0] = s

    # In the first walk s is an int, of which abs() is another intrinsic.
    assert "llvm.abs.i64" not in compiled(kernel, VECTOR).module.functions


def test_the_same_source_gives_the_same_text() -> None:
    assert text_of(reduce_tile, VECTOR, VECTOR) == text_of(reduce_tile, VECTOR, VECTOR)


class Ways(enum.Enum):
    ONE = 1
    OTHER = 2


def chosen(x, y):
    pair, way = (3, 0.5), Ways.ONE
    for k in range(x.size):
        if x[k] > 2:
            pair, way = (4, 1.5), Ways.OTHER
        y[k] = pair[0] * pair[1] + (way is Ways.ONE)


def test_numbers_in_tuples_and_members_of_enumerations_have_types_for_debuggers() -> None:
    """LLVM ends the process where one without is constant in all of its scope."""
    text = write_module(compiled(chosen, VECTOR, VECTOR).module)
    assert {"pair.0", "pair.1", "way"} <= set(re.findall(r'DILocalVariable\(name: "([^"]+)"', text))
    assert "DW_TAG_unspecified_type" not in text
