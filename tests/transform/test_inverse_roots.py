"""Quotients by roots of doubles under fastmath: where they are taken without, and how exact they are."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.interp import Memory, Program, run_function
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.transform.numbers.inverse_roots import replace_inverse_roots

QUOTIENTS = """
define void @f(ptr %xs, ptr %ys, ptr %out) {{
  %x = load <{n} x double>, ptr %xs, align 8
  %y = load <{n} x double>, ptr %ys, align 8
  %root = call {flags} <{n} x double> @llvm.sqrt.v{n}f64(<{n} x double> %y)
{denominator}
  %q = fdiv {flags} <{n} x double> %x, %d
  store <{n} x double> %q, ptr %out, align 8
  ret void
}}
declare <{n} x double> @llvm.sqrt.v{n}f64(<{n} x double>) nounwind willreturn memory(none)
"""
DENOMINATORS = {
    1: "",
    3: "  %d = fmul {flags} <{n} x double> %y, %root",
    5: "  %a = fmul {flags} <{n} x double> %root, %y\n  %d = fmul {flags} <{n} x double> %y, %a",
}


def quotient(power: int = 3, lanes: int = 8, flags: str = "fast", **other: str) -> tuple[Module, Function]:
    text = QUOTIENTS.replace("{denominator}", other.get("denominator", DENOMINATORS[power]))
    text = text.format(n=lanes, flags=flags)
    if power == 1:
        text = text.replace("%x, %d", "%x, %root")
    module = read_module(text)
    verify(module)
    return module, module.functions["f"]


def replaced(module: Module, function: Function, isa: Isa = AVX512) -> int:
    count = replace_inverse_roots(function, isa)
    verify(module)
    divides = any(i.op == "fdiv" or "sqrt." in (i.callee_name or "") for i in function.instructions())
    assert divides == (count == 0)
    return count


@pytest.mark.parametrize("power", DENOMINATORS)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
def test_quotients(power: int, lanes: int) -> None:
    module, function = quotient(power, lanes)
    assert replaced(module, function) == 1
    right_but_for_units(module, power, lanes, 150)


@pytest.mark.parametrize("power", DENOMINATORS)
def test_quotients_from_guesses(power: int) -> None:
    module, function = quotient(power, 64)
    assert replaced(module, function, AVX2) == 1
    assert not any("x86" in (i.callee_name or "") for i in function.instructions())
    right_but_for_units(module, power, 64, 1020)


def right_but_for_units(module: Module, power: int, lanes: int, exponents: int) -> None:
    rng = np.random.default_rng(power)
    y, out = np.exp2(rng.uniform(-exponents, exponents, lanes)), np.zeros(lanes)
    y[0], y[1] = 1, 2
    # Quotients that are no larger than numbers may be.
    x = np.ldexp(rng.normal(size=lanes), np.clip(np.rint(np.log2(y) * power / 2), -1020, 1000).astype(int))
    there = np.abs(np.log2(y) * power / 2) < 1000
    x[~there] = 0
    memory = Memory()
    arguments = [memory.map_array(a) for a in (x, y, out)]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    right = x.astype(np.longdouble) / np.sqrt(y.astype(np.longdouble)) ** power
    assert np.all(np.abs(out - right) <= 3 * np.spacing(np.abs(right).astype(float)))


def test_where_they_stay() -> None:
    assert replaced(*quotient(), isa=SSE2) == 0
    assert replaced(*quotient(flags="")) == 0
    assert replaced(*quotient(flags="reassoc nnan ninf nsz contract afn")) == 0
    assert replaced(*quotient(flags="reassoc nnan ninf nsz arcp contract afn")) == 1
    other_factor = "  %d = fmul fast <8 x double> %x, %root"
    assert replaced(*quotient(denominator=other_factor)) == 0
    plain_product = "  %d = fmul <8 x double> %y, %root"
    assert replaced(*quotient(denominator=plain_product)) == 0
    # The root is used by itself, and would be poison where y is 0.
    used = "  %d = fmul fast <8 x double> %y, %root\n  store <8 x double> %root, ptr %out, align 8"
    assert replaced(*quotient(denominator=used)) == 0


def test_a_root_that_is_divided_stays() -> None:
    both = "  %d = fmul fast <8 x double> %y, %root\n  %e = fdiv fast <8 x double> %root, %d\n"
    stored = "  store <8 x double> %e, ptr %out, align 8"
    assert replaced(*quotient(denominator=both + stored)) == 0


def test_one_root_for_two_quotients() -> None:
    two = """  %d = fmul fast <8 x double> %y, %root
  %r = fdiv fast <8 x double> %x, %root
  store <8 x double> %r, ptr %out, align 8"""
    module, function = quotient(denominator=two)
    assert replaced(module, function) == 2
    assert sum("rsqrt14" in (i.callee_name or "") for i in function.instructions()) == 1


def pulls(masses, squares, result):
    for i in prange(result.size):
        if squares[i] > 0:
            result[i] = masses[i] / (squares[i] * np.sqrt(squares[i]))


@pytest.mark.parametrize(("width", "cpu"), [(4, None), (8, None), (16, None), (16, "x86-64-v3")])
def test_machine_code(width: int, cpu: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if cpu is not None:
        monkeypatch.setenv("WEFT_CPU", cpu)
    rng = np.random.default_rng(width)
    masses, squares = rng.normal(size=1003), np.exp2(rng.uniform(-300, 300, 1003))
    squares[::7] = 0
    result = np.full(1003, 7.0)
    weft.jit(pulls, fastmath=True, width=width)(masses, squares, result)
    there = squares > 0
    right = masses[there].astype(np.longdouble) / np.sqrt(squares[there].astype(np.longdouble)) ** 3
    assert np.all(np.abs(result[there] - right) <= 4 * np.spacing(np.abs(right).astype(float)))
    assert np.all(result[~there] == 7)
