import json
from pathlib import Path

import pytest

from bench import output
from bench.harness import Comparison, Measurement, Peer, Prepared, Status, compare, timed
from bench.output import Goal, duration, table


def peer(name: str, log: list[str], seconds: float = 1.0, complaint: str | None = None) -> Peer:
    def sample() -> float:
        log.append(name)
        return seconds

    return Peer(name, lambda: Prepared(sample, lambda: complaint))


def missing() -> Prepared:
    raise ModuleNotFoundError("No module named 'peer'")


def broken() -> Prepared:
    raise ZeroDivisionError("division by zero")


def test_peers_take_turns_after_warming_up() -> None:
    log: list[str] = []
    comparison = compare("task", [peer("a", log), peer("b", log)], rounds=3, warm_up=2)
    assert log == ["a", "a", "b", "b", "a", "b", "a", "b", "a", "b"]
    assert [len(m.seconds) for m in comparison.measurements] == [3, 3]


def test_ratio_is_between_medians_and_to_the_first_peer() -> None:
    comparison = compare("task", [peer("a", [], 2.0), peer("b", [], 5.0)])
    assert comparison.ratio("b") == 2.5
    assert comparison.ratio("a") == 1.0


def test_wrong_missing_and_failing_peers_are_listed_without_time() -> None:
    log: list[str] = []
    peers = [peer("w", log), peer("x", log, complaint="3 of 4 differ"), Peer("y", missing), Peer("z", broken)]
    comparison = compare("task", peers, rounds=1)
    assert [m.status for m in comparison.measurements] == [
        Status.MEASURED,
        Status.WRONG,
        Status.MISSING,
        Status.FAILED,
    ]
    assert "x" not in log
    assert comparison.ratio("x") is None
    text = table(comparison)
    assert "wrong: 3 of 4 differ" in text
    assert "missing: No module named 'peer'" in text
    assert "failed: ZeroDivisionError" in text


def test_ratios_are_left_out_when_the_first_peer_was_not_measured() -> None:
    comparison = compare("task", [Peer("weft", broken), peer("b", [])])
    assert comparison.ratio("b") is None
    assert " x" not in table(comparison).splitlines()[-1]


def test_timed_gives_the_mean_of_one_run() -> None:
    runs: list[int] = []
    seconds = timed(lambda: runs.append(1), repeat=100)()
    assert len(runs) == 100
    assert 0 < seconds < 1e-3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2.00 s"), (0.4567, "457 ms"), (0.0123, "12.3 ms"), (9.999e-3, "10.0 ms"), (3e-9, "0.00 µs")],
)
def test_durations_show_three_digits(seconds, text) -> None:
    assert duration(seconds) == text


def test_results_are_kept_with_the_machine_they_are_from(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(output, "RESULTS", tmp_path)
    comparison = Comparison("task", [Measurement("weft", Status.MEASURED, seconds=[1.0, 2.0, 3.0])])
    data = json.loads(output.save("latency", [comparison], [Goal("fast", True)]).read_text())
    assert data["comparisons"][0]["measurements"][0]["seconds"] == [1.0, 2.0, 3.0]
    assert data["machine"]["versions"]["LLVM"].startswith("22")
    assert data["goals"] == [{"text": "fast", "met": True}]


def test_goals_say_what_was_not_measured() -> None:
    assert output.goals([Goal("a", True), Goal("b", False), Goal("c", None)]).split("\n") == [
        "wanted",
        "  met           a",
        "  NOT MET       b",
        "  not measured  c",
    ]
