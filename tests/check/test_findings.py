"""A pass that changes what a kernel computes is found out and named, before anything is written."""

import logging
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import weft.codegen.lanes.lane_passes as lane_passes
import weft.passes.kernel_threads as kernel_threads
import weft.passes.lower_kernel as lower_kernel
from check.kernels import add, steps_of_collatz
from weft import cuda
from weft.errors import MiscompilationError
from weft.ir import Function


@pytest.fixture(autouse=True)
def _checking(monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "1")


def subtract_instead(function: Function) -> None:
    """Damage a function: its float additions become subtractions."""
    for instruction in function.instructions():
        if instruction.op == "fadd":
            instruction.op = "fsub"


def invert_branches(function: Function) -> None:
    """Damage a function: comparisons of integers for equality hold where they should not."""
    for instruction in function.instructions():
        if instruction.op == "icmp" and instruction.attrs["predicate"] == "eq":
            instruction.attrs["predicate"] = "ne"


def after(original: Callable, position: int, damage: Callable[[Function], None]) -> Callable:
    """Return a pass that does what `original` does, then damages the function among its arguments."""

    def wrong(*args, **kwargs):
        result = original(*args, **kwargs)
        damage(args[position])
        return result

    return wrong


def launch_add(out: np.ndarray | None = None, **options) -> None:
    out = np.zeros(40, np.float32) if out is None else out
    cuda.jit(**options)(add)[4, 12](np.ones(40, np.float32), np.ones(40, np.float32), out)


def test_a_wrong_scalar_pass_is_named(monkeypatch):
    monkeypatch.setattr(
        kernel_threads, "lower_work_items", after(kernel_threads.lower_work_items, 1, subtract_instead)
    )
    out = np.zeros(40, np.float32)
    with pytest.raises(MiscompilationError, match=r"'work items' changed what add computes: out\[0\]"):
        launch_add(out)
    assert not out.any()


def test_wrong_linearization_is_named(monkeypatch):
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))
    with pytest.raises(MiscompilationError, match="'linearization'"):
        launch_add(width=4)
    with pytest.raises(MiscompilationError, match=r"'linearization \(partial lane groups\)'"):
        launch_add(width=64)


def test_a_wrong_loop_transform_is_named(monkeypatch):
    original = lane_passes.make_loops_uniform
    monkeypatch.setattr(lane_passes, "make_loops_uniform", after(original, 1, invert_branches))
    start = np.full(8, 4, np.int64)
    with pytest.raises(MiscompilationError, match="'divergent loops'"):
        cuda.jit(width=8)(steps_of_collatz)[1, 8](start, np.zeros_like(start))


def test_wrong_machine_code_is_found_out(monkeypatch):
    def emit(lowered, spec):
        lowered.text = lowered.text.replace("fadd", "fsub")
        return original(lowered, spec)

    original = lower_kernel.emit_kernel
    monkeypatch.setattr(lower_kernel, "emit_kernel", emit)
    with pytest.raises(MiscompilationError, match=r"'machine code' .* out\[0\] becomes 0.0, and was 2.0"):
        launch_add()


def test_a_race_is_no_miscompilation(monkeypatch, caplog):
    def last_one_wins(x, out):
        out[0] = x[cuda.grid(1)] + 1.0

    monkeypatch.setattr(
        kernel_threads, "lower_work_items", after(kernel_threads.lower_work_items, 1, subtract_instead)
    )
    with caplog.at_level(logging.INFO, "weft.check"):
        cuda.jit(last_one_wins)[1, 32](np.arange(32, dtype=np.float32), np.zeros(1, np.float32))
    assert "race" in caplog.text


def test_the_error_pickles():
    error = MiscompilationError("'linearization' changed what add computes", hint="report it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
