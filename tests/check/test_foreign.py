"""C functions: which passes the check runs, with which arguments, and that it names a wrong one."""

import logging

import numpy as np
import pytest

import weft
import weft.check.foreign as foreign
import weft.check.machine_code as machine_code
import weft.codegen.lanes.lane_passes as lane_passes
from check.test_findings import after, subtract_instead
from weft.cli import main
from weft.errors import ArgumentError, MiscompilationError
from weft.frontend.clang import compile_c
from weft.target.machine import TargetSpec

SOURCE = """
void add(long n, const double *restrict x, double *restrict y) {
  for (long i = 0; i < n; i++)
    if (x[i] > 0)
      y[i] = x[i] + y[i];
}
double sum(long n, const double *x) {
  double s = 0;
  for (long i = 0; i < n; i++) s += x[i];
  return s;
}
double plus(double a, double b, const int *at) {
  if (a > 0) return a + b;
  return at[0];
}
void far(double *x) { for (long i = 0; i < 8; i++) x[i + 100000] = 1; }
signed char small(signed char a, short b) { return a < 0 ? a - b : a / 3; }
double *behind(long n, double *x) { for (long i = 0; i < n; i++) x[i] *= 2; return x + n; }
double unknown(double);
void outside(long n, double *x) { for (long i = 0; i < n; i++) x[i] = unknown(x[i]); }
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "1")
    path = tmp_path / "functions.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def _wrong_linearization(monkeypatch):
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))


@pytest.fixture
def compared(monkeypatch):
    """The passes of each comparison, and whether the arguments had a defined result."""
    seen = []
    original = foreign._compare

    def compare(name, some, programs, inputs, call):
        outcome = original(name, some, programs, inputs, call)
        seen.append((outcome[0], [prepared.stage.name for prepared in some]))
        return outcome

    monkeypatch.setattr(foreign, "_compare", compare)
    return seen


def test_loops_are_checked_with_arguments_that_are_made_up(source, compared):
    weft.vectorize_ir(source, "add", loop="outermost", width=4, boscc="off")
    partial = [f"{name} (partial lane groups)" for name in ("linearization", "widening")]
    stages = ["front end", "canonical", "invariants", "loops", "linearization", "widening", *partial]
    assert compared == [(True, stages)] * 4


def test_functions_are_checked_lane_by_lane(source, compared):
    weft.vectorize_ir(source, "plus", width=4, args="T_U_U")
    stages = ["front end", "canonical", "invariants", "linearization", "widening", "function"]
    assert compared == [(True, stages)] * 4


@pytest.mark.usefixtures("_wrong_linearization")
def test_a_wrong_pass_is_named_for_loops(source):
    with pytest.raises(MiscompilationError, match=r"'linearization' changed what add computes: y\[\d+\]"):
        weft.vectorize_ir(source, "add", loop="outermost", width=4)


@pytest.mark.usefixtures("_wrong_linearization")
@pytest.mark.parametrize("mask", ["none", "last"])
def test_a_wrong_pass_is_named_for_functions(source, mask):
    with pytest.raises(
        MiscompilationError, match=r"'linearization' changed what plus computes: the result\[\d\]"
    ):
        weft.vectorize_ir(source, "plus", width=4, args="T_U_U", mask=mask)


def test_wrong_widening_is_named(source, monkeypatch):
    def shift(function):
        for instruction in function.instructions():
            if instruction.op == "fadd":
                instruction.op = "fsub"

    original = lane_passes.widen_function

    def widen(*args, **keywords):
        made = original(*args, **keywords)
        shift(made[0])
        return made

    monkeypatch.setattr(lane_passes, "widen_function", widen)
    with pytest.raises(MiscompilationError, match="'widening' changed what add computes"):
        weft.vectorize_ir(source, "add", loop="outermost", width=4)
    with pytest.raises(MiscompilationError, match="'widening' changed what plus computes"):
        weft.vectorize_ir(source, "plus", width=4, args="T_U_U")


@pytest.mark.usefixtures("_wrong_linearization")
def test_arguments_of_the_user_decide_what_is_seen(source):
    x, y = -np.ones(9), np.ones(9)
    weft.vectorize_ir(source, "add", loop="outermost", width=4, check_with=[9, x, y])
    with pytest.raises(MiscompilationError, match=r"add computes: y\[0\] becomes 0.0, and was 2.0"):
        weft.vectorize_ir(source, "add", loop="outermost", width=4, check_with=[9, -x, y])
    a = np.array([-1.0, -1.0, 3.0, -1.0])
    with pytest.raises(MiscompilationError, match=r"the result\[2\] becomes 1.0, and was 5.0"):
        weft.vectorize_ir(source, "plus", width=4, args="T_U_U", check_with=[a, 2.0, np.zeros(1, np.int32)])
    with pytest.raises(ArgumentError, match="has 3 parameters, and 1 values"):
        weft.vectorize_ir(source, "add", loop="outermost", width=4, check_with=[9])


@pytest.mark.usefixtures("_wrong_linearization")
def test_the_command_checks_with_files_and_numbers(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WEFT_CHECK", "0")
    for name, value in (("x", np.ones(9)), ("y", np.ones(9))):
        np.save(tmp_path / f"{name}.npy", value)
    values = f"9,{tmp_path / 'x.npy'},{tmp_path / 'y.npy'}"
    command = ["vectorize", str(source), "--function", "add", "--loop", "outermost", "--width", "4"]
    assert main([*command, "-o", str(tmp_path / "out.ll")]) == 0
    assert main([*command, "--check-with", values]) != 0
    assert "'linearization' changed what add computes" in capsys.readouterr().err


def test_sums_in_another_order_are_compared_loosely(source, compared):
    weft.vectorize_ir(source, "sum", loop="outermost", width=4, fastmath=True)
    assert all(done for done, _ in compared)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("far", "no arguments are known with which it has a defined result"),
        ("outside", "the interpreter cannot execute the external function @unknown"),
    ],
)
def test_functions_that_cannot_be_called_are_logged(source, function, reason, caplog):
    with caplog.at_level(logging.INFO, "weft.check"):
        weft.vectorize_ir(source, function, loop="for.cond", width=4)
    assert reason in caplog.text


@pytest.fixture
def called(monkeypatch):
    """What machine code returned."""
    seen = []
    original = machine_code.MachineCode.call

    def call(code, values):
        seen.append(original(code, values))
        return seen[-1]

    monkeypatch.setattr(machine_code.MachineCode, "call", call)
    return seen


def test_machine_code_is_called_with_the_same_arguments(source, called):
    weft.vectorize_ir(source, "add", loop="outermost", width=4)
    assert called == [None] * 4
    called.clear()
    weft.vectorize_ir(source, "plus", width=4, args="T_U_U", mask="last")
    assert [value.data.shape for value in called] == [(1, 4)] * 8
    called.clear()
    weft.vectorize_ir(source, "small", width=8, args="T_U")
    assert [value.data.dtype for value in called] == [np.uint8] * 4


@pytest.mark.parametrize("loop", ["outermost", None])
def test_wrong_machine_code_is_named(source, monkeypatch, loop):
    emit = machine_code.emit_object
    monkeypatch.setattr(
        machine_code, "emit_object", lambda text, *others: emit(text.replace(" fadd ", " fsub "), *others)
    )
    name, args = ("add", "") if loop else ("plus", "T_U_U")
    with pytest.raises(MiscompilationError, match=f"'machine code' changed what {name} computes"):
        weft.vectorize_ir(source, name, loop=loop, width=4, args=args)


def test_results_that_lead_into_memory_count_by_where(source, called):
    weft.vectorize_ir(source, "behind", loop="outermost", width=4)
    assert len(called) == 4


def test_fast_math_is_left_to_llvm(source, called, caplog):
    text = compile_c(source, TargetSpec.chosen().triple).replace(" fadd ", " fadd fast ")
    with caplog.at_level(logging.INFO, "weft.check"):
        weft.vectorize_ir(text, "plus", width=4, args="T_U_U")
    assert not called and "not checked as machine code: its flags let LLVM" in caplog.text
