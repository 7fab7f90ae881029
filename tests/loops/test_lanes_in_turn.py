"""SIMD functions whose lanes had better run one after the other call the function for one lane."""

import ctypes
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conformance.runner import passes_checked
from weft.loops.llvm_ir import VectorizedIR, vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = """
_Bool rv_any(_Bool);
double row(const int *starts, const int *columns, const double *values, const double *x, int i) {
    double total = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) total += values[k] * x[columns[k]];
    return total;
}
signed char sign(const int *starts, const int *columns, const double *values, const double *x, signed char i) {
    double total = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) total += values[k] * x[columns[k]];
    return total < 0 ? -1 : total > 0;
}
double while_any(const int *starts, const int *columns, const double *values, const double *x, int i) {
    double total = 0;
    for (int k = starts[i]; rv_any(k < starts[i + 1]); k++) total += values[k] * x[columns[k]];
    return total;
}
"""
CALLER = """
define void @through(ptr %s, ptr %c, ptr %v, ptr %x, ptr %places, ptr %active, ptr %out) {{
  %i = load <{width} x {place}>, ptr %places, align 1
  %numbers = load <{width} x i8>, ptr %active, align 1
  %mask = trunc <{width} x i8> %numbers to <{width} x i1>
  %r = call <{width} x {type}> @lanes(ptr %s, ptr %c, ptr %v, ptr %x, <{width} x {place}> %i{mask})
  call void @llvm.masked.store.v{width}{type}.p0(<{width} x {type}> %r, ptr %out, i32 1, <{width} x i1> %mask)
  ret void
}}
declare void @llvm.masked.store.v{width}{type}.p0(<{width} x {type}>, ptr, i32, <{width} x i1>)
"""
IN_TURN = "runs lane after lane, which takes about "
SHAPES = "U_U_U_U_T_rT"


def made_of(folder: Path, function: str, width: int, **options: str | tuple[str, ...]) -> VectorizedIR:
    source = folder / "rows.c"
    source.write_text(SOURCE)
    return vectorize_ir(source, function, width=width, args=SHAPES, name="lanes", **options)


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize(("function", "mask"), [("row", "none"), ("row", "last"), ("sign", "last")])
def test_lanes_do_what_each_does_by_itself(
    function: str, mask: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    width = 8
    with passes_checked(level == "x86-64"):
        made = made_of(tmp_path, function, width, mask=mask)
    assert IN_TURN in str(made.remarks)
    rng = np.random.default_rng(1)
    starts = np.r_[0, np.cumsum(rng.integers(0, 9, 30))].astype(np.int32)
    columns = rng.integers(0, 50, starts[-1]).astype(np.int32)
    values, x = rng.integers(-9, 9, starts[-1]).astype(float), rng.integers(-9, 9, 50).astype(float)
    products = values * x[columns]
    sums = np.array([products[a:b].sum() for a, b in pairwise(starts)])
    place, type, kinds = (
        ("i8", "i8", (np.int8,) * 2) if function == "sign" else ("i32", "f64", (np.int32, float))
    )
    caller = CALLER.format(
        width=width, place=place, type=type, mask=f", <{width} x i1> %mask" if mask == "last" else ""
    )
    spec = TargetSpec.chosen()
    text = made.llvm + caller.replace(" x f64>", " x double>")
    code = load_object(emit_object(text, spec), ["through"])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)(code.address("through"))
    for active in (
        np.ones(width, np.int8),
        np.arange(width, dtype=np.int8) % 3 % 2,
        np.zeros(width, np.int8),
    ):
        places = rng.integers(0, 30, width).astype(kinds[0])
        if mask == "last":
            # Lanes that are off look up nothing.
            places[active == 0] = 127
        out = np.full(width, 5, kinds[1])
        arrays = (starts, columns, values, x, places, active, out)
        if mask == "none" or active.any():
            run(*(a.ctypes.data for a in arrays))
        wanted = [
            (np.sign(sums[i]) if function == "sign" else sums[i]) if on else 5
            for i, on in zip(places, active, strict=True)
        ]
        assert list(out) == wanted


def test_functions_that_ask_other_lanes_stay_in_lanes(tmp_path: Path) -> None:
    assert IN_TURN not in str(made_of(tmp_path, "while_any", 8).remarks)


def test_the_pass_can_be_left_out(tmp_path: Path) -> None:
    assert IN_TURN not in str(made_of(tmp_path, "row", 8, without=("lanes-in-turn",)).remarks)
