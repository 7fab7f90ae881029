"""What a loop carries comes last in its sums, and sums are what they were."""

import ctypes
import re
from random import Random

import numpy as np
import pytest

import weft
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import PassList
from weft.target.rewrites.carried_last import with_carried_last

LOOP = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n, TYPE %m) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = phi TYPE [ ZERO, %entry ], [ %x, %loop ]
  %q = phi TYPE [ ZERO, %entry ], [ %p, %loop ]
  %from = getelementptr TYPE, ptr %a, i64 %i
  %v = load TYPE, ptr %from, align 4
BODY
  %to = getelementptr TYPE, ptr %b, i64 %i
  store TYPE %x, ptr %to, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}
declare double @llvm.minnum.f64(double, double)
"""


def loop(body: str, type: str = "double", zero: str = "0.000000e+00") -> str:
    """A loop of such a body, which makes ``%x`` of ``%v``, ``%m`` and what it has carried, ``%p`` and ``%q``."""
    return LOOP.replace("BODY", body).replace("TYPE", type).replace("ZERO", zero)


def results(text: str) -> np.ndarray:
    """What the loop stores."""
    code = load_object(emit_object(text, TargetSpec.chosen(), PassList("none", ("verify",))), ["f"])
    types = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    function = ctypes.CFUNCTYPE(None, *types)(code.address("f"))
    given, made = np.linspace(-1, 2, 20), np.zeros(20)
    function(given.ctypes.data, made.ctypes.data, 20, 0.375)
    return made


def last_line(text: str) -> str:
    """What makes the number that is carried."""
    return next(line for line in text.split("\n") if line.startswith("  %x ="))


def test_a_sum_has_the_carried_number_last() -> None:
    text = loop("  %s = fadd fast double %v, %p\n  %x = fsub fast double %s, %m")
    changed = with_carried_last(text, AVX2)
    assert changed is not None and last_line(changed).endswith(", %p") and "%s =" not in changed
    np.testing.assert_allclose(results(changed), results(text))


def test_a_factor_is_spread_out_where_it_is_one_operation_then() -> None:
    text = loop("  %s = fadd fast double %v, %p\n  %x = fmul fast double %s, %m")
    changed = with_carried_last(text, AVX2)
    assert changed is not None and "@llvm.fmuladd.f64(double %p" in last_line(changed)
    np.testing.assert_allclose(results(changed), results(text))
    # Without fused operations it would be two, as it is.
    assert with_carried_last(text, SSE2) is None


def test_a_number_that_occurs_twice_has_one_factor() -> None:
    """A low-pass filter: ``p + m * (v - p)``."""
    text = loop(
        "  %d = fsub fast double %v, %p\n  %e = fmul fast double %d, %m\n  %x = fadd fast double %p, %e"
    )
    changed = with_carried_last(text, AVX2)
    assert changed is not None and "fsub fast double 1.000000e+00, %m" in changed
    np.testing.assert_allclose(results(changed), results(text))


def test_what_was_carried_before_comes_before() -> None:
    text = loop(
        "  %s = fmul fast double %p, %m\n  %t = fadd fast double %s, %v\n  %x = fsub fast double %t, %q"
    )
    changed = with_carried_last(text, AVX512)
    assert changed is not None and "(double %p" in last_line(changed)
    np.testing.assert_allclose(results(changed), results(text))


def test_an_extremum_has_the_carried_number_last() -> None:
    minimum = "call fast double @llvm.minnum.f64"
    text = loop(
        f"  %s = {minimum}(double %v, double %p)\n  %t = {minimum}(double %s, double %m)\n"
        "  %x = fadd fast double %t, %v"
    )
    changed = with_carried_last(text, AVX2)
    assert changed is not None
    assert re.search(
        r"%t = call nnan ninf nsz arcp contract afn double @llvm.minnum.f64\(double %weft\S+, double %p\)",
        changed,
    )
    np.testing.assert_array_equal(results(changed), results(text))


def test_lanes_have_it_last_too() -> None:
    text = loop(
        "  %d = fsub fast <4 x double> %v, %p\n  %e = fmul fast <4 x double> %d, %m\n"
        "  %x = fadd fast <4 x double> %p, %e",
        "<4 x double>",
        "zeroinitializer",
    )
    changed = with_carried_last(text, AVX2)
    assert changed is not None and "@llvm.fmuladd.v4f64(<4 x double> %p" in last_line(changed)
    assert "declare <4 x double> @llvm.fmuladd.v4f64" in changed
    emit_object(changed, TargetSpec.of_isa(AVX2), PassList("none", ("verify",)))


@pytest.mark.parametrize(
    "body",
    [
        # One operation already.
        "  %s = fmul fast double %p, %m\n  %x = fadd fast double %s, %v",
        # No multiple of it.
        "  %s = fmul fast double %p, %p\n  %t = fadd fast double %s, %v\n  %x = fmul fast double %t, %p",
        # Not all operations may change places.
        "  %s = fadd double %v, %p\n  %x = fadd fast double %s, %m",
        "  %s = fadd reassoc double %v, %p\n  %x = fsub reassoc double %s, %m",
    ],
)
def test_others_stay(body: str) -> None:
    assert with_carried_last(loop(body), AVX2) is None


def random_body(random: Random) -> str:
    """Operations on what there is, which hang on each other."""
    known, lines = ["%v", "%m", "%p", "%q", "5.000000e-01"], []
    for number in range(random.randint(2, 9)):
        name, kind = f"%r{number}", random.choice(["fadd", "fadd", "fsub", "fmul", "fneg", "min"])
        recent = [*known[-3:], "%p"]
        a, b = random.choice(recent), random.choice(known)
        if random.random() < 0.5:
            a, b = b, a
        if kind == "fneg":
            lines.append(f"  {name} = fneg fast double {a}")
        elif kind == "min":
            lines.append(f"  {name} = call fast double @llvm.minnum.f64(double {a}, double {b})")
        else:
            lines.append(f"  {name} = {kind} fast double {a}, {b}")
        known.append(name)
    # So that numbers stay small.
    lines.append(f"  %last = fmul fast double {known[-1]}, 2.500000e-01")
    lines.append("  %low = call fast double @llvm.minnum.f64(double %last, double 3.0)")
    lines.append("  %x = fadd fast double %low, %v")
    return "\n".join(lines)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_sums_are_what_they_were(start: int) -> None:
    changed = 0
    for seed in range(start, start + 50):
        text = loop(random_body(Random(seed)))
        made = with_carried_last(text, chosen())
        if made is None:
            continue
        changed += 1
        before = results(text)
        few = np.abs(before) < 1e3
        np.testing.assert_allclose(results(made)[few], before[few], rtol=1e-6, atol=1e-6, err_msg=text)
    assert changed >= 5


def test_recurrences_of_users_are_what_they_were() -> None:
    @weft.jit(fastmath=True)
    def sweep(a, w):
        for y in range(1, a.shape[0] - 1):
            for x in range(1, a.shape[1] - 1):
                a[y, x] = (1 - w) * a[y, x] + w * 0.25 * (
                    a[y - 1, x] + a[y, x - 1] + a[y, x + 1] + a[y + 1, x]
                )

    rng = np.random.default_rng(3)
    a = rng.random((9, 40))
    expected = a.copy()
    sweep.py_func(expected, 0.9)
    sweep(a, 0.9)
    np.testing.assert_allclose(a, expected)
