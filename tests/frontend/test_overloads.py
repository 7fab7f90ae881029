"""Declared signatures: which one a call takes, and what becomes of arguments and results, for every door."""

import functools

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import ArgumentError, TypingError
from weft.frontend.python.overloads import CONVERSIONS, NoSignature, best_signature
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import STRONG, boolean, float32, int16, int32, int64, pyfloat, pyint


def test_conversions_are_those_of_numba() -> None:
    rules = pytest.importorskip("numba.core.typeconv.rules").default_type_manager
    types = pytest.importorskip("numba").types
    theirs = {type: getattr(types, "boolean" if type is boolean else type.name) for type in STRONG}
    for source in STRONG:
        for target in STRONG:
            found = CONVERSIONS.get((source, target))
            wanted = rules.check_compatible(theirs[source], theirs[target])
            assert getattr(found, "name", "none").lower() == getattr(wanted, "name", "none"), (source, target)


@pytest.mark.parametrize(
    ("types", "declared", "chosen"),
    [
        ((float32,), ["(float64,)", "(float32,)"], 1),
        ((pyint,), ["(float64,)", "(int64,)"], 1),
        ((pyfloat,), ["(float32,)", "(int64,)", "(float64,)"], 2),
        ((int32,), ["(float64,)", "(int64,)"], 1),
        ((int32,), ["(int16,)", "(float64,)"], 1),
        ((int64, int64), ["(int32, int32)", "(int64, float64)"], 1),
        ((float32[::1],), ["(float32[:],)", "(float32[::1],)"], 1),
        ((float32[::1],), ["(float64[:],)", "(float32[:],)"], 1),
    ],
)
def test_the_best_signature_is_taken(types, declared, chosen: int) -> None:
    signatures = [parse_signature(text) for text in declared]
    assert best_signature("f", types, signatures) is signatures[chosen]


def test_signatures_that_fit_equally_well_are_ambiguous() -> None:
    signatures = [parse_signature("(int64,)"), parse_signature("(int32,)")]
    with pytest.raises(NoSignature, match="ambiguous"):
        best_signature("f", (int16,), signatures)
    assert best_signature("f", (int16,), signatures, first_of_equals=True) is signatures[0]
    with pytest.raises(ArgumentError, match="ambiguous"):
        weft.jit(["int64(int64)", "int32(int32)"])(lambda x: x)(np.int16(3))


def quotient(a, b):
    return a / b


whole = cuda.jit("int64(int64, int64)", device=True)(quotient)
either = cuda.jit(["float64(float64)", "int64(int64)"], device=True)(lambda x: x / 2)
of_jit = weft.jit("int32(int32, float64)")(quotient)


def by_device_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = whole(x[i], 2.9)
        out[i, 1] = either(x[i]) + either(3) * 10
        out[i, 2] = of_jit(x[i], 2)


@pytest.mark.parametrize("debug", [False, True])
def test_arguments_and_results_of_device_functions_are_converted(debug: bool) -> None:
    x = np.array([7.9, -3.5, 2**40, 0])
    out = np.zeros((4, 3))
    cuda.jit(debug=debug)(by_device_functions)[1, 4](x, out)
    wanted = [[int(int(v) / 2), v / 2 + 10, int(min(int(v), 2**31 - 1) / 2)] for v in x.tolist()]
    assert out.tolist() == wanted


@weft.jit
def halved(x):
    return of_jit(x, 2)


def test_functions_called_by_functions_are_converted() -> None:
    assert halved(7.9) == 3 and isinstance(halved(7.9), int)


def test_arguments_that_no_signature_takes_are_refused_where_they_are_passed() -> None:
    first = cuda.jit("float32(float32[:])", device=True)(lambda a: a[0])

    def kernel(out):
        out[0] = first(out)

    with pytest.raises(TypingError, match=r"no signature for \(float64\[::1\]\)") as caught:
        cuda.jit(kernel)[1, 1](np.zeros(3))
    assert caught.value.span is not None and "first(out)" in str(caught.value)


def test_results_that_cannot_be_converted_are_refused() -> None:
    with pytest.raises(TypingError, match="is declared to return float64, and returns none"):

        @weft.jit("float64(float64)")
        def nothing(x):
            pass

    with pytest.raises(TypingError, match="is declared to return none, and returns float64"):
        weft.jit("void(float64)")(lambda x: x)


def test_functions_take_the_best_signature_and_no_other() -> None:
    function = weft.jit(["int64(int64)", "float32(float64)"])(lambda x: x / 3)
    assert function(7) == 2 and function(np.int8(7)) == 2
    assert function(1.0) == np.float32(1 / 3) == function(np.float32(1))
    with pytest.raises(ArgumentError, match="no signature"):
        function(1j)
    truncated = weft.jit("int64(int64)")(lambda x: x)
    assert [truncated(v) for v in (2.7, -2.7, 1e300, np.nan)] == [2, -2, 2**63 - 1, 0]
    with pytest.raises(ArgumentError, match="does not fit"):
        weft.jit("int8(int8)")(lambda x: x)(300)


@pytest.mark.parametrize("order", [1, -1])
def test_kernels_take_the_best_signature(order: int) -> None:
    def store(out, x):
        out[0] = x / 2

    kernel = cuda.jit(["void(float64[:], int64)", "void(float64[:], float32)"][::order])(store)
    out = np.zeros(1)
    kernel[1, 1](out, np.float16(3))
    assert out[0] == 1.5
    kernel[1, 1](out, np.int8(3))
    assert out[0] == 1.5 and len(kernel.overloads) == 2
    only = cuda.jit("void(float64[:], int64)")(store)
    only[1, 1](out, 5.9)
    assert out[0] == 2.5


def test_stacks_of_arrays_of_a_declared_type_are_not_converted() -> None:
    @weft.guvectorize(["void(float64[:], float64[:])", "void(float32[:], float32[:])"], "(n)->(n)")
    def copy(x, out):
        for i in range(x.size):
            out[i] = x[i]

    assert copy(np.ones(3, np.float32)).dtype == np.float32
    assert copy(np.ones(3, np.int16)).dtype == np.float64


def plain(a):
    return a


@functools.wraps(plain)
def wrapper(a, b=5):
    return a * b


def test_what_wraps_another_function_is_called_as_it_says_itself() -> None:
    @weft.jit
    def calls(x):
        return wrapper(x, 3) + wrapper(x)

    assert calls(2) == 16
    assert [weft.jit(wrapper)(2, 4), weft.jit(wrapper)(2), weft.jit(wrapper)(b=2, a=4)] == [8, 10, 8]


def test_results_that_are_tuples_and_arrays_are_converted() -> None:
    pair = weft.jit("Tuple((int32, float32))(float64)")(lambda x: (x, x))
    assert pair(2.7) == (2, np.float32(2.7))
    a = np.arange(3.0)
    assert weft.jit("float64[:](float64[:])")(lambda a: a)(a) is a


def sets_first(a):
    a[0] = 5


set_first = cuda.jit("void(float32[:])", device=True)(sets_first)


def test_shared_and_local_arrays_are_arguments_of_declared_functions() -> None:
    @cuda.jit
    def kernel(out):
        shared, local = cuda.shared.array(4, np.float32), cuda.local.array(4, np.float32)
        set_first(shared)
        set_first(local)
        out[0] = shared[0] + local[0]

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 10
