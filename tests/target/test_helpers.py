"""What code calls where the processor has no instruction: conversions of half and bfloat, 128-bit integers."""

import ctypes
import random
from functools import cache

import numpy as np
import pytest

from weft.machine.targets import SSE2
from weft.target.elf import needed_symbols
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

LEAST = TargetSpec.of_isa(SSE2)
WORD = 1 << 64
MASK = (1 << 128) - 1


@cache
def mapped(name: str, result: str, argument: str) -> LoadedCode:
    """``go(n, in, out)``: a conversion of the least processor, which has none of its own, over an array."""
    call = f"%r = {name} {argument} %x to {result}"
    text = f"""
define void @go(i64 %n, ptr %in, ptr %out) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr {argument}, ptr %in, i64 %i
  %x = load {argument}, ptr %p
  {call}
  %q = getelementptr {result}, ptr %out, i64 %i
  store {result} %r, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""
    data = emit_object(text, LEAST)
    assert needed_symbols(data), "no helper is needed"
    return load_object(data, ["go"])


def convert(name: str, result: str, argument: str, given: np.ndarray, kind: str) -> np.ndarray:
    out = np.zeros(given.size, kind)
    go = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    go(mapped(name, result, argument).address("go"))(given.size, given.ctypes.data, out.ctypes.data)
    return out


def near(bits: np.ndarray, spread: int) -> np.ndarray:
    """Numbers, and their neighbours on both sides."""
    return np.concatenate([bits, bits + bits.dtype.type(spread), bits - bits.dtype.type(spread)])


HALVES = np.arange(1 << 16, dtype=np.uint16)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Bits are equal, but for those of NaNs."""
    nan = np.isnan(wanted)
    bits = f"u{got.dtype.itemsize}"
    return bool(np.isnan(got[nan]).all() and np.array_equal(got[~nan].view(bits), wanted[~nan].view(bits)))


def test_every_half_is_extended() -> None:
    halves = HALVES.view(np.float16)
    assert same(convert("fpext", "float", "half", halves, "f4"), halves.astype(np.float32))


@pytest.mark.parametrize(("type", "kind"), [("float", np.float32), ("double", np.float64)])
def test_halves_their_middles_and_neighbours_are_rounded_to_even(type: str, kind: type) -> None:
    halves = HALVES.view(np.float16)
    exact = halves[np.isfinite(halves)].astype(kind)
    middles = np.concatenate(
        [(exact + np.nextafter(halves[np.isfinite(halves)], np.float16(9)).astype(kind)) / 2]
    )
    bits = np.concatenate([exact, middles, kind([65504, 65519, 65520, 1e30, np.inf, np.nan])])
    given = near(bits.view(f"u{bits.dtype.itemsize}"), 1).view(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        assert same(convert("fptrunc", "half", type, given, "f2"), given.astype(np.float16))


@pytest.mark.parametrize(("type", "kind"), [("float", np.float32), ("double", np.float64)])
def test_bfloats_their_middles_and_neighbours_are_rounded_to_even(type: str, kind: type) -> None:
    bfloats = (HALVES.astype(np.uint32) << 16).view(np.float32)
    middles = ((HALVES.astype(np.uint32) << 16) + 0x8000).view(np.float32)
    finite = np.concatenate([bfloats[np.isfinite(bfloats)], middles[np.isfinite(middles)]]).astype(kind)
    given = near(finite.view(f"u{finite.dtype.itemsize}"), 1).view(kind)
    given = given[~np.isnan(given)]
    got = convert("fptrunc", "bfloat", type, given, "u2")
    # Rounded at once, in integers of 64 bits: the neighbours of a bfloat are bfloats.
    low = np.abs(given).astype(np.float64)
    with np.errstate(over="ignore"):
        floor = (low.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
    value = lambda n: np.ldexp((n & 127) + np.where(n >= 128, 128.0, 0.0), np.maximum(n >> 7, 1) - 134)  # noqa: E731
    floor = np.minimum(np.where(value(floor) > low, floor - 1, floor), 0x7F7F)
    below, above = low - value(floor), value(floor + 1) - low
    wanted = np.where((above < below) | ((above == below) & (floor & 1 == 1)), floor + 1, floor)
    wanted = np.where(np.isinf(low), 0x7F80, wanted) | (np.signbit(given).astype(np.int64) << 15)
    np.testing.assert_array_equal(got, wanted)


def test_nan_stays_one_in_a_bfloat() -> None:
    nans = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
    doubles = np.array([0x7FF0000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    for type, given in (("float", nans), ("double", doubles)):
        got = convert("fptrunc", "bfloat", type, given, "u2")
        assert ((got & 0x7F80) == 0x7F80).all() and (got & 0x7F).all()


def numbers(seed: int, count: int) -> list[int]:
    """128-bit numbers of all lengths: random ones, and ones and zeros in a row."""
    chosen = random.Random(seed)
    found = [0, 1, 2, 3, WORD - 1, WORD, WORD + 1, MASK, MASK - 1, 1 << 127, (1 << 127) - 1, (1 << 127) + 1]
    while len(found) < count:
        number = chosen.getrandbits(128)
        if chosen.random() < 0.4:
            number = (1 << chosen.randint(0, 128)) - (1 << chosen.randint(0, 127))
        found.append((number >> chosen.randint(0, 127)) & MASK)
    return found


def packed(values: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join((v & MASK).to_bytes(16, "little") for v in values), np.uint64).copy()


def unpacked(words: np.ndarray) -> list[int]:
    data = words.tobytes()
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)]


def signed(value: int) -> int:
    return value - (1 << 128) if value >> 127 else value


@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
def test_128_bit_integers_are_divided(op: str) -> None:
    text = f"""
define void @go(i64 %n, ptr %a, ptr %b, ptr %out) {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr i128, ptr %a, i64 %i
  %q = getelementptr i128, ptr %b, i64 %i
  %o = getelementptr i128, ptr %out, i64 %i
  %x = load i128, ptr %p, align 8
  %y = load i128, ptr %q, align 8
  %r = {op} i128 %x, %y
  store i128 %r, ptr %o, align 8
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""
    code = load_object(emit_object(text, LEAST), ["go"])
    dividends, divisors = numbers(1, 20_000), numbers(2, 20_000)
    pairs = [(a, b) for a, b in zip(dividends, reversed(divisors), strict=True) if b]
    pairs += [(a, b) for a in dividends[:40] for b in divisors[:40] if b]
    # Quotients whose digits are guessed too great.
    pairs += [
        (b * q + r, b)
        for _, b in pairs[:4000]
        for q in (WORD - 1, 1 << 32)
        for r in (0, b - 1)
        if b * q + r <= MASK
    ]
    if op[0] == "s":
        pairs = [(a, b) for a, b in pairs if (a, b) != (1 << 127, MASK)]
    a, b = packed([p[0] for p in pairs]), packed([p[1] for p in pairs])
    out = np.zeros(a.size, np.uint64)
    go = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)(code.address("go"))
    go(len(pairs), a.ctypes.data, b.ctypes.data, out.ctypes.data)
    for (x, y), got in zip(pairs, unpacked(out), strict=True):
        if op[0] == "u":
            wanted = x // y if op == "udiv" else x % y
        else:
            s, t = signed(x), signed(y)
            quotient = abs(s) // abs(t) * (-1 if (s < 0) != (t < 0) else 1)
            wanted = (quotient if op == "sdiv" else s - quotient * t) & MASK
        assert got == wanted, (op, hex(x), hex(y))


@pytest.mark.parametrize("op", ["uitofp", "sitofp"])
@pytest.mark.parametrize(
    ("type", "bits", "most"), [("half", 11, 15), ("float", 24, 127), ("double", 53, 1023)]
)
def test_128_bit_integers_become_the_nearest_floats(op: str, type: str, bits: int, most: int) -> None:
    given = numbers(3, 4000)
    given += [
        (1 << k) + d & MASK
        for k in range(128)
        for n in range(1, 60)
        for d in (1 << n, (1 << n) - 1, (1 << n) + 1)
    ][::7]
    kind = {"half": "f2", "float": "f4", "double": "f8"}[type]
    data = packed(given)
    out = np.zeros(len(given), kind)
    go = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    go(mapped(op, type, "i128").address("go"))(len(given), data.ctypes.data, out.ctypes.data)
    for value, got in zip(given, out.tolist(), strict=True):
        value = signed(value) if op == "sitofp" else value
        magnitude = abs(value)
        drop = max(0, magnitude.bit_length() - bits)
        whole, rest = magnitude >> drop, magnitude & ((1 << drop) - 1)
        whole += (drop > 0 and (rest, whole & 1) > (1 << (drop - 1), 0)) or (
            drop > 0 and rest > 1 << (drop - 1)
        )
        rounded = whole << drop
        wanted = float("inf") if rounded.bit_length() > most + 1 else float(rounded)
        assert got == (-wanted if value < 0 else wanted), (op, type, value)


@pytest.mark.parametrize("type", ["half", "float", "double"])
@pytest.mark.parametrize("op", ["fptoui", "fptosi"])
def test_floats_become_128_bit_integers(op: str, type: str) -> None:
    kind = {"half": np.float16, "float": np.float32, "double": np.float64}[type]
    rng = np.random.default_rng(5)
    most = {"half": 15.9, "float": 127.0, "double": 127.0}[type] - (op == "fptosi")
    given = np.exp2(rng.uniform(-3, most, 3000)).astype(kind)
    given = np.concatenate([given, kind([0, 0.5, 0.999, 1, 1.5, 2, 3])])
    if op == "fptosi":
        given[::2] *= -1
    out = np.zeros(2 * given.size, np.uint64)
    go = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    go(mapped(op, "i128", type).address("go"))(given.size, given.ctypes.data, out.ctypes.data)
    for value, got in zip(given.tolist(), unpacked(out), strict=True):
        assert got == int(value) & MASK, (op, type, value)


def test_levels_have_helpers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of one process may be made for several levels, and each may need what its processor lacks."""
    text = """
define i16 @f(double %x) {
  %h = fptrunc double %x to half
  %r = bitcast half %h to i16
  ret i16 %r
}
"""
    for level in ("x86-64", "x86-64-v2", "x86-64-v3"):
        monkeypatch.setenv("WEFT_CPU", level)
        data = emit_object(text, TargetSpec.chosen())
        assert needed_symbols(data), "no helper is needed"
        code = load_object(data, ["f"])
        f = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_double)(code.address("f"))
        assert f(1.5) == np.float16(1.5).view(np.uint16)
