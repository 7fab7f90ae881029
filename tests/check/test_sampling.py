"""Some stages of a program are run instead of all: passes that are wrong are named as ever."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft
from check.test_findings import after, subtract_instead
from weft import cuda, prange
from weft.check import sampling
from weft.check.sampling import run_sampled, sample
from weft.codegen.lanes import lane_passes
from weft.diag.errors import MiscompilationError
from weft.options import check_step, checking


def add(x, y, out):
    for i in prange(out.size):
        if x[i] > 0.0:
            out[i] = x[i] + y[i]


def add_by_kernel(x, y, out):
    i = cuda.grid(1)
    if i < out.size and x[i] > 0.0:
        out[i] = x[i] + y[i]


def stages(count: int, text: str = "") -> list[Any]:
    return [SimpleNamespace(number=k, stage=SimpleNamespace(text=text)) for k in range(count)]


@pytest.mark.parametrize("step", [2, 4, 7])
def test_no_stage_is_left_out_of_all_programs(step: int) -> None:
    seen: set[int] = set()
    for number in range(100):
        chosen = [s.number for s in sample(stages(20, f"program {number}"), step)]
        assert chosen == sorted(chosen) and chosen[0] in (0, 1) and chosen[-1] == 19
        assert len(chosen) <= 20 // step + 3
        seen.update(chosen)
    assert seen == set(range(20))


@pytest.mark.parametrize("step", [2, 4, 8])
def test_no_stage_is_left_out_of_a_program_that_runs_often(step: int) -> None:
    turns = [[s.number for s in sample(stages(20), step, turn)] for turn in range(step)]
    assert {number for chosen in turns for number in chosen} == set(range(20))
    assert all(chosen[-1] == 19 for chosen in turns)


def test_the_last_may_be_left_to_machine_code() -> None:
    turns = [[s.number for s in sample(stages(20), 4, turn, last=False)] for turn in range(4)]
    assert [19 in chosen for chosen in turns].count(True) == 1
    assert all(len(chosen) >= 2 for chosen in turns) and len(sample(stages(3), 9, last=False)) == 2


def test_all_are_run_at_1_and_where_there_are_few() -> None:
    assert len(sample(stages(20), 1)) == 20 and len(sample(stages(2), 4)) == 2


def test_all_are_run_once_some_differ() -> None:
    ran: list[list[int]] = []

    def run(some: Any) -> None:
        ran.append([s.number for s in some])
        wrong = [n for n in ran[-1] if n >= 11]
        if wrong:
            raise MiscompilationError(f"stage {wrong[0]}", hint="")

    with pytest.raises(MiscompilationError, match="stage 11"):
        run_sampled(stages(20), 4, run)
    assert ran[0] != ran[1] == list(range(20))


@pytest.mark.parametrize(("asked", "step"), [("0", 1), ("1", 1), ("4", 4), ("all", 1)])
def test_what_is_asked_for(asked: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", asked)
    assert check_step() == step and checking() == (asked != "0")


@pytest.mark.parametrize("step", ["2", "4", "5"])
def test_a_wrong_pass_is_named(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", step)
    # Code that is damaged is not to be found by others.
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(MiscompilationError, match="'linearization' changed what add computes"):
        weft.jit(width=4)(add)(x, x, out)
    assert not out.any()
    with pytest.raises(MiscompilationError, match="'linearization' changed what add_by_kernel computes"):
        cuda.jit(width=4)(add_by_kernel)[2, 32](x, x, out)


def test_a_wrong_pass_is_named_where_only_machine_code_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "4")
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setattr(sampling, "sample", lambda stages, *_: stages[:2])
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(MiscompilationError, match="'linearization' changed what add_by_kernel computes"):
        cuda.jit(width=4)(add_by_kernel)[2, 32](x, x, out)


@pytest.mark.parametrize("step", ["2", "4", "8"])
def test_a_wrong_pass_is_named_in_functions_of_c(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", step)
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))
    file = tmp_path / "add.c"
    file.write_text(
        "void add(long n, const double *restrict x, double *restrict y) {"
        " for (long i = 0; i < n; i++) if (x[i] > 0) y[i] = x[i] + y[i]; }"
    )
    with pytest.raises(MiscompilationError, match="'linearization' changed what add computes"):
        weft.vectorize_ir(file, "add", loop="outermost", width=4)
