"""The benchmark of plain loops compares what it measures."""

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from bench import sequential
from bench.harness import Status, compare


def test_a_loop_and_its_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    function, _ = sequential.PROGRAMS["clip"]
    peers = sequential.peers_of(function, lambda rng: (rng.random(40), np.zeros(40), 0.2, 0.7), 1)
    found = compare("clip", peers[:2], rounds=1)
    assert [m.status for m in found.measurements] == [Status.MEASURED, Status.MEASURED]


def test_another_result_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    function, _ = sequential.PROGRAMS["clip"]
    arguments = iter([(np.full(9, x), np.zeros(9), 0.2, 0.7) for x in (0.3, 0.4, 0.5, 0.6)])
    peers = sequential.peers_of(function, lambda rng: next(arguments), 1)
    assert compare("clip", peers[:1], rounds=1).measurements[0].status is Status.WRONG
