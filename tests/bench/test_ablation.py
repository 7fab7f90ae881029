"""The ablation: every program has its launches, columns are held against the scalar one, and means are of ratios."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import ablation
from bench.ablation_rows import IRREGULAR, PROGRAMS, REGULAR, Program
from bench.harness import Comparison, Measurement, Status
from examples.irregular import collatz

TINY = {"dct": 16, "bitonic_sort": 1024, "walsh": 1024, "floyd_warshall_tiles": 32, "smith_waterman": 2}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_program_has_a_problem_of_any_size_and_its_launches(program: Program) -> None:
    row = program.row(TINY.get(program.name, 50))
    problem = row.make()
    launches = row.launches(problem)
    assert any(launch.kernel is problem.kernel for launch in launches)
    written = [problem.arguments[i] for i in problem.outputs]
    for array, wanted in zip(written, problem.expected(), strict=True):
        assert isinstance(array, np.ndarray) and array.shape == np.shape(wanted)


def test_all_columns_compute_what_the_scalar_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    program = next(p for p in PROGRAMS if p.name == "collatz")
    measured = ablation.measure(program, tmp_path, rounds=1, size=300)
    assert [m.status for m in measured.comparison.measurements] == [Status.MEASURED] * len(
        ablation.CONFIGURATIONS
    )
    for columns in ablation.COLUMNS.values():
        header, _, line = ablation.table([measured], columns).split("\n")
        assert line.split("|")[1].strip() == "Collatz" and "-" not in line
        assert [cell.strip() for cell in header.split("|")[2:-1]] == list(columns.shown)


def test_a_column_that_is_wrong_has_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    problem = collatz.problems(300)[0]
    wrong = (problem.expected()[0] + 1,)
    program = Program("collatz", "", lambda _: replace(problem, expected=lambda: wrong), 300)
    (scalar,) = ablation.measure(
        program, tmp_path, rounds=1, wanted=[ablation.SCALAR]
    ).comparison.measurements
    assert scalar.status is Status.WRONG


def result(program: Program, **seconds: float) -> ablation.Result:
    measured = [Measurement(name, Status.MEASURED, seconds=[s]) for name, s in seconds.items()]
    return ablation.Result(program, Comparison("", measured))


def test_columns_have_configurations_and_steps_are_between_columns() -> None:
    for columns in ablation.COLUMNS.values():
        assert set(columns.shown.values()) <= set(ablation.CONFIGURATIONS)
        assert {name for step in columns.steps for name in step} <= set(columns.shown)
    moll = ablation.COLUMNS["moll"]
    converted, gadgets = (ablation.CONFIGURATIONS[moll.shown[name]] for name in ("if-converted", "RV+BOSCC"))
    assert converted["uniform_control"] is False and "boscc" not in gadgets


def test_means_are_of_what_a_step_gains() -> None:
    results = [
        result(IRREGULAR[0], scalar=8.0, naive=4.0, UniVal=1.0),
        result(IRREGULAR[1], scalar=8.0, naive=8.0, UniVal=8.0),
        result(REGULAR[0], scalar=8.0, naive=2.0, UniVal=2.0),
    ]
    assert results[0].speedup("UniVal", "naive") == 4.0 and results[0].speedup("all", "scalar") is None
    columns = ablation.COLUMNS["karrenberg"]
    irregular, regular, both = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in ablation.means(results, columns).split("\n")[2:]
    )
    gains = [f"{own} / {other}" for own, other in columns.steps].index("UniVal / naive") + 1
    assert irregular[gains] == "2.00" and regular[gains] == "1.00" and both[gains] == "1.59"
    assert irregular[-1] == "-"
