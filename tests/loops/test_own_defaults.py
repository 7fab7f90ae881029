"""Calls in which parameters have their defaults run code for which these are constants, and give what Python gives."""

import math
import re
from typing import Any

import numpy as np
import pytest

import weft
from weft.loops.jit_function import JitFunction
from weft.loops.own_defaults import defaults_in, defaults_of
from weft.runtime.dispatch import calls

FOUR = np.int32(4)


def crc(data, polynomial=0x8408):
    state = 0xFFFF
    for byte in data:
        current = int(byte)
        for _ in range(8):
            state = (state >> 1) ^ polynomial if (state ^ current) & 1 else state >> 1
            current >>= 1
    return state


def weighted(x, out, power=2.0, *, doubled=False):
    for i in weft.prange(out.size):
        total = 0.0
        for j in range(x.size):
            total += abs(x[i] - x[j]) ** power
        out[i] = 2 * total if doubled else total


@pytest.fixture
def through_python(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Calls that machine code has not made, which makes none that are checked."""
    monkeypatch.setenv("WEFT_CHECK", "0")
    if calls() is None:
        pytest.skip("objects lie otherwise here")
    seen: list[tuple[Any, ...]] = []
    plain = JitFunction._call

    def noted(self: JitFunction, *args: Any, **keywords: Any) -> Any:
        seen.append(args)
        return plain(self, *args, **keywords)

    monkeypatch.setattr(JitFunction, "_call", noted)
    return seen


@pytest.mark.parametrize("count", [0, 5, 1000])
def test_whatever_is_given_python_gives_the_same(count: int) -> None:
    function = weft.jit(crc)
    data = np.random.default_rng(1).integers(0, 256, count).astype(np.uint8)
    for more in ((), (0x8408,), (0xA001,), (), (np.int64(0x8408),), (0xA001,), (0,), (True,)):
        assert function(data, *more) == crc(data, *more), more
    assert function(data, polynomial=0x8408) == crc(data)
    assert function(data, polynomial=5) == crc(data, 5)


def test_calls_with_defaults_have_code_of_their_own() -> None:
    function = weft.jit(weighted, fastmath=True)
    x, out = np.random.default_rng(2).random(200), np.zeros(200)
    for more, keywords in (
        ((), {}),
        ((3.0,), {}),
        ((), {"doubled": True}),
        ((2.0,), {}),
        ((3.0,), {"doubled": True}),
    ):
        wanted = np.zeros(200)
        function(x, out, *more, **keywords)
        weighted(x, wanted, *more, **keywords)
        np.testing.assert_allclose(out, wanted, rtol=1e-12)
    (types,) = function.overloads
    assert {known for _, known in function._of_defaults} == {
        ((4, 2.0), (5, False)),
        ((5, False),),
        ((4, 2.0),),
        (),
    }
    assert function.overloads[types].options.known == ()


def test_constants_are_folded() -> None:
    function = weft.jit(weighted, fastmath=True)
    function(np.ones(100), np.zeros(100))
    (code,) = function.inspect_llvm().values()
    assert not re.search(r"call .*pow", code), "a square is a product"
    assert "where power is 2.0 and doubled is False" in str(function.report())


def test_machine_code_makes_both_kinds_of_calls(through_python: list[tuple[Any, ...]]) -> None:
    function = weft.jit(crc)
    data = np.arange(100, dtype=np.uint8)
    calls = [(data,), (data, 0x8408), (data, 3), (data, 4), (data, -(1 << 63))]
    wanted = [crc(*args) for args in calls]
    for _ in range(3):
        assert [function(*args) for args in calls] == wanted
    # Each kind is compiled at the first call.
    assert [len(args) for args in through_python] == [1, 2]
    assert through_python[1][1] == 3


@pytest.mark.parametrize("least", [-(1 << 63), (1 << 63) - 1, -1, 0])
def test_the_ends_of_the_integers_are_defaults_as_others(
    least: int, through_python: list[tuple[Any, ...]]
) -> None:
    def sign(x, limit=least):
        return x > limit

    function = weft.jit(sign)
    others = [v for v in (-(1 << 63), 1 - (1 << 63), -1, 0, 1, (1 << 63) - 1) if v != least]
    for _ in range(2):
        assert function(0) == (least < 0) == function(0, least)
        assert [function(0, other) for other in others] == [other < 0 for other in others]
    assert len(through_python) == 2


def test_zeros_have_signs() -> None:
    def side(x, zero=0.0):
        return math.copysign(x, zero)

    function = weft.jit(side)
    assert [function(1.0), function(1.0, -0.0), function(1.0, 0.0), function(1.0)] == [1, -1, 1, 1]


def test_rows_that_are_short_by_default_have_code_for_other_lengths() -> None:
    @weft.jit
    def smooth(x, out, radius=2):
        for i in weft.prange(out.size):
            total = 0.0
            for k in range(radius):
                total += x[i + k]
            out[i] = total

    x, out = np.random.default_rng(3).random(1100), np.zeros(1000)
    for radius in (2, 3, 2, 40, 3, 90, 0, -1, 2):
        smooth(x, out, *([] if radius == 2 else [radius]))
        wanted = sum((x[k : k + 1000] for k in range(radius)), np.zeros(1000))
        np.testing.assert_allclose(out, wanted, rtol=1e-12, err_msg=str(radius))


def test_arrays_that_overlap_meet_defaults_too() -> None:
    @weft.jit
    def shifted(x, out, by=1):
        for i in range(out.size):
            out[i] = x[i] + by

    for more in ((), (2,)):
        for offset in (0, 1):
            memory = np.zeros(400)
            shifted(memory[:300], memory[offset : 300 + offset], *more)
            wanted = np.zeros(400)
            for i in range(300):
                wanted[offset + i] = wanted[i] + (*more, 1)[0]
            assert np.array_equal(memory, wanted)


def test_code_for_defaults_is_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    data = np.arange(50, dtype=np.uint8)
    for _ in range(2):
        function = weft.jit(crc)
        assert [function(data), function(data, 7)] == [crc(data), crc(data, 7)]
    assert all(not any(made.timings.as_dict().values()) for made in function._bases)


def test_declared_functions_have_code_for_any_numbers() -> None:
    function = weft.jit("int64(uint8[::1], int64)")(crc)
    data = np.arange(50, dtype=np.uint8)
    assert function(data) == crc(data) and function(data, 9) == crc(data, 9)
    assert len(function._made) == 1


def test_which_parameters_are_numbers_by_default() -> None:
    def f(a, b=1, c=2.5, d=None, e=FOUR, f=True, *, g=3, h=(1, 2), i=math.nan, j=1 << 63):
        return a

    assert defaults_of(f) == ((1, 1), (2, 2.5), (5, True), (6, 3))
    args = (0, True, 2.5, None, 4, 1, 3, (1, 2), math.nan, 1 << 63)
    assert defaults_in(defaults_of(f), args) == ((2, 2.5), (6, 3))
