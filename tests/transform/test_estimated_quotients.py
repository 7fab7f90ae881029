"""Quotients and roots of doubles from estimates: in which loops, and how exact they are."""

import math

import numpy as np
import pytest

import weft
from weft import prange
from weft.analysis.inverse_roots import estimates_inverses
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, Isa
from weft.transform.numbers.estimated_quotients import estimate_quotients

LOOP = """
define void @f(ptr %xs, ptr %out, <{n} x double> %ones) {{
A:
  br label %L
L:
  %i = phi i64 [ 0, %A ], [ %j, %L ]
  %last = phi <{n} x double> [ %ones, %A ], [ %next, %L ]
  %at = getelementptr <{n} x double>, ptr %xs, i64 %i
  %x = load <{n} x double>, ptr %at, align 8
{divided}
  %q = fdiv {flags} <{n} x double> %x, %d
  %sum0 = fadd fast <{n} x double> %last, %q
{beside}
  %next = fadd fast <{n} x double> %sum{beside_count}, %d
  %j = add nsw i64 %i, 1
  %again = icmp slt i64 %j, 100
  br i1 %again, label %L, label %D
D:
  store <{n} x double> %next, ptr %out, align 8
  ret void
}}
"""
OWN = "  %d = fadd fast <{n} x double> %x, %x"
LAST = "  %d = fadd fast <{n} x double> %x, %last"
SAME = "  %d = fmul fast <{n} x double> %ones, %ones"


def estimated(
    lanes: int = 8, flags: str = "fast", divided: str = OWN, beside: int = 0, isa: Isa = AVX512
) -> int:
    products = [f"  %sum{k + 1} = fmul fast <{lanes} x double> %sum{k}, %x" for k in range(beside)]
    text = LOOP.format(
        n=lanes, flags=flags, divided=divided.format(n=lanes), beside="\n".join(products), beside_count=beside
    )
    module = read_module(text)
    verify(module)
    count = estimate_quotients(module.functions["f"], isa)
    verify(module)
    assert ("rcp14" in str(module)) == (count > 0)
    return count


def test_where() -> None:
    assert estimated() == estimated(32) == 1
    assert estimated(4) == 0
    assert estimated(flags="arcp") == 0
    assert estimated(isa=AVX2) == 0
    # With so much to do the divider keeps up.
    assert estimated(beside=40) == 0
    # One register waits for its last quotient, four do not wait for one another.
    assert estimated(divided=LAST) == 0
    assert estimated(32, divided=LAST) == 1


def test_quotients_by_what_does_not_change_stay() -> None:
    text = LOOP.replace("{divided}", "").replace("%x, %d\n", "%x, %ones\n").replace("}, %d\n", "}, %x\n")
    module = read_module(text.format(n=8, flags="fast", beside="", beside_count=0))
    assert estimate_quotients(module.functions["f"], AVX512) == 0


def ratios(xs, ys, quotients, roots):
    for i in prange(xs.size):
        quotients[i] = xs[i] / ys[i]
        roots[i] = math.sqrt(ys[i])


@pytest.mark.skipif(not estimates_inverses(chosen().isa), reason="there are no estimates of doubles")
def test_machine_code() -> None:
    rng = np.random.default_rng(3)
    ys = np.ldexp(rng.uniform(1, 2, 20_000), rng.integers(-1022, 1024, 20_000))
    # Quotients that are neither subnormal nor infinite.
    xs = np.ldexp(
        ys, np.clip(rng.integers(-900, 900, ys.size), -900 - np.frexp(ys)[1], 900 - np.frexp(ys)[1])
    )
    xs *= rng.uniform(-1, 1, ys.size)
    quotients, roots = np.zeros((2, ys.size))
    function = weft.jit(ratios, fastmath=True)
    function(xs, ys, quotients, roots)
    assert "vrcp14pd" in "".join(function.inspect_asm().values())
    wide = ys.astype(np.longdouble)
    right = xs / wide
    assert np.all(np.abs(quotients - right) <= np.spacing(np.abs(right).astype(float)))
    assert np.all(np.abs(roots - np.sqrt(wide)) <= np.spacing(np.sqrt(ys)))
    xs[:3], ys[:3] = (1, -1, 1), (0, 0, np.inf)
    function(xs, ys, quotients, roots)
    assert list(quotients[:3]) == [np.inf, -np.inf, 0]
    assert list(roots[:2]) == [0, 0]
