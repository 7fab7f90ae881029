"""Loops that hand something on beside much else run in strips, part by part, and give what they gave."""

import math
from pathlib import Path

import numpy as np
import pytest

import weft
from loops.test_auto import agree, auto, runs_in_lanes
from weft.diag.remarks import RemarkKind
from weft.loops.analysis import analyze_file
from weft.machine.host import chosen
from weft.transform.loops.run_in_strips import STRIP

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SIZES = (0, 1, 7, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 5)


def filtered(x, y, z, s):
    for i in range(x.size):
        t = math.sqrt(x[i] / (1.0 + y[i])) / (2.0 + x[i])
        s = s * 0.5 + t
        z[i] = math.sqrt(s * s) / (y[i] + 3.0)
    return s


def roots(x, y):
    s = 0.0
    for i in range(x.size):
        s += math.sqrt(x[i]) / (1.0 + math.sqrt(y[i])) / (3.0 + x[i] * y[i])
    return s


def backwards(x, y, z):
    for i in range(x.size - 2, 0, -1):
        t = math.sqrt(x[i] + 1.0) / (1.0 + y[i]) / (x[i] + 2.0)
        z[i] = z[i + 1] * 0.5 + t
        y[i] = math.sqrt(z[i] * z[i]) / (t + 1.0)


def guarded(x, y, z):
    s = 1.0
    for i in range(x.size):
        r = math.sqrt(x[i] + y[i]) / (1.0 + x[i])
        if r < 0.5:
            s = s * 0.25 + r / (2.0 + y[i])
            z[i] = s
        y[i] = math.sqrt(s * s + r) / (r + 3.0)
    return s


def light(x, y, s):
    for i in range(x.size):
        s = s * 0.5 + x[i]
        y[i] = s + 1.0
    return s


def is_in_strips(compiled) -> bool:
    told = (r.message for r in compiled.remarks if r.kind is RemarkKind.TRANSFORM)
    return any("of this loop at a time run as" in message for message in told)


@pytest.mark.spread
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [filtered, backwards, guarded])
def test_results_are_those_of_the_loop(function, dtype) -> None:
    draw = np.random.default_rng(3)
    compiled, plain = auto(function), weft.jit(function)
    for n in SIZES:
        arrays = [draw.random(n).astype(dtype) for _ in range(3)]
        copies = [a.copy() for a in arrays]
        more = (1.0,) if function is filtered else ()
        assert compiled(*arrays, *more) == plain(*copies, *more)
        for a, b in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(a, b)
    assert is_in_strips(compiled) and runs_in_lanes(compiled)


def test_sums_stay_in_order() -> None:
    draw = np.random.default_rng(4)
    compiled = auto(roots)
    for n in SIZES:
        agree(compiled, draw.random(n), draw.random(n))
    assert is_in_strips(compiled) and runs_in_lanes(compiled)


def test_arrays_that_overlap_take_the_loop_as_it_is() -> None:
    draw = np.random.default_rng(5)
    compiled = auto(filtered)
    x = draw.random(3 * STRIP)
    agree(compiled, x[1:], draw.random(x.size - 1), x[:-1], 1.0)
    agree(compiled, x[:-1], x[:-1], x[1:], 1.0)


def test_what_is_little_stays_in_order() -> None:
    compiled = auto(light)
    agree(compiled, np.arange(600.0), np.zeros(600), 1.0)
    assert not is_in_strips(compiled) and not runs_in_lanes(compiled)


SOURCE = """
double f(int n, const double *restrict x, double *restrict y)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double t = __builtin_sqrt(x[i]) / (1 + x[i]);
        s = s * 0.5 + t;
        y[i] = t / s / (x[i] + 2);
    }
    return s;
}
"""


def test_the_report_names_the_loops(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(SOURCE)
    report = analyze_file(file)
    (loop,) = report.to_data()["loops"]
    # With two doubles a register a division of line 8 is in order, too.
    inside = [7] if chosen().isa.lanes(64) > 2 else [7, 8]
    assert loop["strips"] == [
        {"lines": [6], "in_lanes": True},
        {"lines": inside, "in_lanes": False},
        {"lines": [8], "in_lanes": True},
    ]
    named = "line 7" if inside == [7] else "lines 7, 8"
    assert f"in strips: line 6 in lanes; {named} in order; line 8 in lanes" in str(report)
    assert "In strips" in report.to_html()
