"""Short numbers of lanes are compared with what lanes share in their own bits, with the same results."""

import operator

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.interp import Lanes, run_function
from weft.ir import Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.shared_comparisons import compare_shared

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
SHARED = ("i64 %u", "i64 range(i64 -5, 300) %u")


def program(
    extend: str, bits: int, predicate: str, shared: str, *, swapped: bool = False, more: str = ""
) -> str:
    operands = "%u, %wide" if swapped else "%wide, %u"
    return f"""
define i1 @k(i{bits} %x, {shared}) "weft.kernel" {{
entry:
  %wide = {extend} i{bits} %x to i64
  %r = icmp {predicate} i64 {operands}
  {more}
  ret i1 %r
}}
"""


def shortened(text: str) -> tuple[Module, int]:
    module = read_module(text)
    kernel = module.functions["k"]
    domain = domain_named("product", (8,))
    initial: dict[Value, Shape] = {kernel.args[0]: domain.varying()}
    count = compare_shared(kernel, analyze_divergence(kernel, domain=domain, initial=initial, width=8))
    verify(module)
    return module, count


def results(module: Module, bits: int, shared: str) -> list[int]:
    """For numbers near zero and the ends of the short type and of 64 bits."""
    ends = [0, 1 << (bits - 1), 1 << bits]
    x = np.unique([(e + d) % (1 << bits) for e in ends for d in (-2, -1, 0, 1)]).astype(f"u{bits // 8}")
    near = [e * s + d for e in (*ends, 1 << 63) for s in (-1, 1) for d in (-2, -1, 0, 1)]
    low, high = (-5, 300) if "range" in shared else (-(1 << 63), 1 << 63)
    u = np.array(sorted({n for n in near if low <= n < high}), np.int64).astype(np.uint64)
    pairs = [part.reshape(-1) for part in np.meshgrid(x, u)]
    return run_function(module, "k", [Lanes(p) for p in pairs], pairs[0].size).data.tolist()


@pytest.mark.spread
@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("extend", ["sext", "zext"])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_results_stay(bits: int, extend: str, shared: str) -> None:
    for predicate in PREDICATES:
        for swapped in (False, True):
            text = program(extend, bits, predicate, shared, swapped=swapped)
            module, count = shortened(text)
            assert count == (predicate[0] != "u" or extend == "zext"), predicate
            assert results(module, bits, shared) == results(read_module(text), bits, shared), predicate


def test_what_is_known_to_fit_is_not_asked() -> None:
    module, count = shortened(program("zext", 16, "slt", "i64 range(i64 0, 300) %u"))
    assert count == 1
    assert write_module(module).count("icmp") == 1


@pytest.mark.parametrize(
    "text",
    [
        program("sext", 32, "ult", "i64 %u"),
        program("sext", 32, "slt", "i64 %u").replace("%wide, %u", "%wide, 7"),
        program("sext", 32, "slt", "i64 %u").replace("%wide, %u", "%wide, %wide"),
        program("sext", 32, "slt", "i64 %u", more="%also = add i64 %wide, 1"),
    ],
    ids=["without a sign", "a constant", "itself", "extended for more"],
)
def test_what_stays(text: str) -> None:
    module, count = shortened(text)
    assert count == 0
    assert write_module(module) == write_module(read_module(text))


ORDERS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@cuda.jit
def by_kernel(a, u, out):
    i = cuda.grid(1)
    if i < a.size:
        n = 0
        if a[i] == u:
            n += 1
        if a[i] != u:
            n += 2
        if a[i] < u:
            n += 4
        if u >= a[i]:
            n += 8
        if a[i] > u:
            n += 16
        if a[i] >= u:
            n += 32
        out[i] = n


@weft.jit
def by_loop(a, u, out):
    for i in prange(a.size):
        n = 0
        if a[i] == u:
            n += 1
        if a[i] != u:
            n += 2
        if a[i] < u:
            n += 4
        if u >= a[i]:
            n += 8
        if a[i] > u:
            n += 16
        if a[i] >= u:
            n += 32
        out[i] = n


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
def test_code_compares_as_numpy(dtype: type, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.min + 1, 0, 1, 77, limits.max - 1, limits.max] * 10).astype(dtype)
    kernel, loop = cuda.jit(by_kernel.py_func), weft.jit(by_loop.py_func)
    for u in (
        -(1 << 40),
        int(limits.min) - 1,
        int(limits.min),
        0,
        77,
        int(limits.max),
        int(limits.max) + 1,
        1 << 62,
    ):
        wide = a.astype(np.int64)
        expected = sum(
            (f(wide, u).astype(np.int64) << k for k, f in enumerate(ORDERS)), np.zeros(70, np.int64)
        )
        for run in (kernel[2, 64], loop):
            out = np.zeros(70, np.int64)
            run(a, u, out)
            np.testing.assert_array_equal(out, expected)


def test_bytes_are_compared_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")

    @weft.jit
    def brighter(pixels, threshold, out):
        for i in prange(pixels.size):
            out[i] = 1 if pixels[i] > threshold else 0

    brighter(np.zeros(100, np.uint8), 3, np.zeros(100, np.uint8))
    code = "\n".join(brighter.inspect_llvm().values())
    assert "icmp ugt <32 x i8>" in code or "icmp ugt <64 x i8>" in code or "icmp ult <32 x i8>" in code
