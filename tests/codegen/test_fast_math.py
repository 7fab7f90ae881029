"""Without fastmath results are those of Python's operations, bit for bit; with it LLVM may contract and reassociate."""

import numpy as np
import pytest

from weft import cuda
from weft.errors import SignatureError

N = 96


def multiply_add(out, a, b, c):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * b[i] + c[i]


def add_and_take_away(out, a, b, c):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (a[i] + b[i]) - b[i]


def dot(out, a, b, c):
    i = cuda.grid(1)
    if i < out.size:
        total = c[i]
        for k in range(8):
            total += a[(i + k) % a.size] * b[k]
        out[i] = total


def is_nan(out, a, b, c):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1 if a[i] != a[i] else 0


def arguments(dtype: type) -> tuple[np.ndarray, ...]:
    """Numbers whose products and sums round."""
    rng = np.random.default_rng(5)
    a, b = (rng.uniform(1, 2, N).astype(dtype) for _ in range(2))
    return np.zeros(N, dtype), a, b, (-a * b).astype(dtype)


def run(kernel, dtype: type, **options) -> tuple[np.ndarray, str, str]:
    """What the kernel computes, its LLVM IR and its assembly."""
    compiled = cuda.jit(**options)(kernel)
    args = arguments(dtype)
    compiled[1, N](*args)
    (code,) = compiled.overloads.values()
    return args[0], code.llvm(), code.assembly()


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 1), (np.float32, 8), (np.float64, 8)])
def test_products_and_sums_are_rounded_apart_without_fastmath(dtype: type, width: int | None) -> None:
    got, text, assembly = run(multiply_add, dtype, width=width)
    _, a, b, c = arguments(dtype)
    np.testing.assert_array_equal(got, a * b + c)
    assert not got.any(), "contracted, the sums would be what rounding took from the products"
    assert "fmadd" not in assembly and " fast " not in text and "llvm.fmuladd" not in text


@pytest.mark.spread
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("flags", [True, {"contract"}])
def test_products_and_sums_are_contracted_with_fastmath(flags, width: int | None) -> None:
    got, _, assembly = run(multiply_add, np.float64, fastmath=flags, width=width)
    if "fma" in assembly:
        assert got.any()
    np.testing.assert_allclose(got, 0, atol=4e-16)


@pytest.mark.parametrize("width", [1, 8])
def test_sums_keep_their_order_without_fastmath(width: int) -> None:
    got, _, _ = run(add_and_take_away, np.float32, width=width)
    _, a, b, _ = arguments(np.float32)
    np.testing.assert_array_equal(got, (a + b) - b)
    assert (got != a).any()


@pytest.mark.spread
@pytest.mark.parametrize("flags", [True, {"reassoc", "nsz"}])
@pytest.mark.parametrize("width", [1, 8])
def test_sums_are_reassociated_with_fastmath(flags, width: int) -> None:
    got, _, _ = run(add_and_take_away, np.float32, width=width, fastmath=flags)
    np.testing.assert_array_equal(got, arguments(np.float32)[1])


def test_widths_agree_bit_for_bit_without_fastmath() -> None:
    scalar, _, _ = run(dot, np.float32, width=1)
    for width in (4, 32):
        np.testing.assert_array_equal(
            run(dot, np.float32, width=width)[0].view(np.int32), scalar.view(np.int32)
        )


def test_flags_reach_the_vector_code() -> None:
    _, text, _ = run(dot, np.float32, fastmath=True, width=8)
    assert "fmul fast <8 x float>" in text
    _, text, _ = run(dot, np.float32, fastmath={"contract"}, width=8)
    assert "fmul contract <8 x float>" in text and " fast " not in text


def test_nan_is_told_from_numbers_unless_fastmath_excludes_it() -> None:
    def count(**options) -> int:
        args = arguments(np.float64)
        args[1][::3] = np.nan
        cuda.jit(**options)(is_nan)[1, N](*args)
        return int(args[0].sum())

    assert count() == count(fastmath={"reassoc", "contract"}) == 32
    assert count(fastmath=True) == count(fastmath={"nnan"}) == 0


@pytest.mark.parametrize("wrong", ["yes", 2, {"quick"}, None])
def test_unknown_flags_are_refused(wrong) -> None:
    with pytest.raises(SignatureError, match="fastmath"):
        cuda.jit(fastmath=wrong)(dot)
