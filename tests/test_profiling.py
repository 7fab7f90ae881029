"""``weft.profile()`` and the logs: what runs is seen, whichever way it is called."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import weft
from weft import cuda, opencl
from weft.errors import SettingError
from weft.runtime.interrupts import CALLERS
from weft.runtime.watching import WATCHERS, filled_lanes


@cuda.jit
def scale(x, a):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a


@weft.jit
def total(x):
    t = 0.0
    for i in weft.prange(x.size):
        t += x[i]
    return t


@weft.vectorize
def half(x):
    return x / 2


def of_kind(seen, kind):
    return [event for event in seen.events if event.kind == kind]


def test_launches_are_seen_even_when_machine_code_would_make_them() -> None:
    x = np.ones(1000, np.float32)
    launch = scale[8, 128]
    for _ in range(3):
        launch(x, np.float32(2))
    with weft.profile() as seen:
        for _ in range(4):
            launch(x, np.float32(2))
    launch(x, np.float32(2))
    assert x[0] == 2**8
    events = of_kind(seen, "launch")
    assert [e.name for e in events] == ["scale"] * 4
    assert {(e.grid, e.block, e.bytes) for e in events} == {((8, 1, 1), (128, 1, 1), 4000)}
    assert all(e.seconds > 0 and e.lanes >= 1 and 0 < e.filled <= 1 for e in events)
    assert not WATCHERS
    assert list(CALLERS) == [1, threading.get_ident(), 1]


def test_calls_of_functions_are_seen_with_the_bytes_of_their_arrays() -> None:
    x = np.ones((1 << 12,), np.float64)
    total(x)
    half(x)
    with weft.profile() as seen:
        total(x)
        total(x[:100])
        half(x)
    calls = of_kind(seen, "call")
    assert [(e.name, e.bytes) for e in calls] == [("total", 8 << 12), ("total", 800), ("line", 16 << 12)]
    total(x)
    assert len(seen.events) == len(calls)


def test_kernels_of_other_languages_and_other_threads() -> None:
    program = opencl.Program("kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }")
    x = np.ones(256, np.float32)
    with weft.profile() as seen:
        worker = threading.Thread(target=lambda: program.twice(256, 64, x))
        worker.start()
        worker.join()
    (event,) = of_kind(seen, "launch")
    assert (event.name, event.block, event.bytes) == ("twice", (64, 1, 1), 1024)
    assert event.thread != threading.get_ident()
    assert [e.name for e in seen.events if e.kind in ("compile", "load")] == ["twice"]


def test_profiles_may_be_nested_and_end_with_errors() -> None:
    x = np.ones(100, np.float64)
    with weft.profile() as outer:
        total(x)
        inner = weft.profile()
        with contextlib.suppress(ZeroDivisionError), inner:
            total(x)
            raise ZeroDivisionError
        total(x)
    assert (len(of_kind(outer, "call")), len(of_kind(inner, "call"))) == (3, 1)
    assert not WATCHERS


def test_tables_json_and_traces() -> None:
    x = np.ones(1000, np.float32)
    with weft.profile() as seen:
        scale[8, 128](x, np.float32(1))
        scale[8, 128](x, np.float32(1))
    table = str(seen).splitlines()
    assert table[0].split() == "times total ms mean us longest us MiB GB/s lanes filled in use".split()  # noqa: SIM905
    assert next(line for line in table if line.startswith("launch scale")).split()[2] == "2"
    data = json.loads(seen.to_json())
    line = next(line for line in data["lines"] if line["kind"] == "launch")
    assert (line["name"], line["count"], line["bytes"]) == ("scale", 2, 8000)
    assert len(data["events"]) == len(seen.events)
    trace = json.loads(seen.to_chrome_trace())
    shown = [e for e in trace["traceEvents"] if e["cat"] == "launch"]
    assert [e["ph"] for e in shown] == ["X", "X"]
    assert shown[0]["ts"] + shown[0]["dur"] <= shown[1]["ts"]
    assert shown[0]["args"]["grid"] == [8, 1, 1]


def test_lanes_that_get_no_thread_are_counted() -> None:
    assert filled_lanes((4, 1, 1), (24, 1, 1), 16, 0, goes_on=False) == 24 / 32
    assert filled_lanes((4, 1, 1), (24, 1, 1), 16, 0, goes_on=True) == 1.0
    assert filled_lanes((1, 3, 1), (1, 5, 1), 8, 1, goes_on=True) == 15 / 16


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is not counted."""
    monkeypatch.setenv("WEFT_CHECK", "0")


@cuda.jit
def every_fourth(x):
    i = cuda.grid(1)
    if i % 4 == 0:
        for _ in range(200):
            x[i] = x[i] * 0.5 + 1.0 / (x[i] + 2.0)


@weft.jit
def shrinks(x):
    for i in weft.prange(x.size):
        v = x[i]
        while v > 1:
            v = v * 0.5 + 0.25 / v
        x[i] = v


@weft.vectorize
def shrunk(v):
    while v > 1:
        v = v * 0.5 + 0.25 / v
    return v


ONE_IN_FOUR = """
kernel void one_in_four(global float *x) {
    size_t i = get_global_id(0);
    if (i % 4 == 0)
        for (int k = 0; k < 200; k++) x[i] = x[i] * 0.5f + 1.0f / (x[i] + 2.0f);
}
"""


def test_lanes_that_branches_leave_idle_are_counted(unchecked: None) -> None:
    x = np.ones(4096)
    every_fourth[16, 256](x)
    wanted = x.copy()
    with weft.profile(lanes=True) as seen:
        every_fourth[16, 256](np.ones(4096))
    (event,) = of_kind(seen, "launch")
    # One lane of four works, but for the test itself.
    assert event.filled == 1.0 and 0.25 < event.active < 0.27
    every_fourth[16, 256](y := np.ones(4096))
    np.testing.assert_array_equal(y, wanted)
    with weft.profile() as seen:
        every_fourth[16, 256](x)
    (event,) = of_kind(seen, "launch")
    assert event.active is None and "%" not in str(seen).splitlines()[1][-8:]


def test_lanes_are_counted_for_every_door(unchecked: None) -> None:
    program = opencl.Program(ONE_IN_FOUR)
    # One number of eight takes many rounds; all others none.
    v = np.where(np.arange(4096) % 8 == 0, 1e30, 0.5)
    with weft.profile(lanes=True) as seen:
        program.one_in_four(4096, 256, np.ones(4096, np.float32))
        shrinks(v.copy())
        shrunk(v)
    found = {e.name: e.active for e in seen.events if e.kind in ("launch", "call")}
    assert 0.25 < found["one_in_four"] < 0.27
    assert 0.125 < found["shrinks"] < 0.2 and 0.125 < found["line"] < 0.2
    with weft.profile(lanes=True) as seen:
        shrinks(np.full(4096, 1e30))
    assert of_kind(seen, "call")[0].active > 0.99


def test_logs_have_names(caplog) -> None:
    with pytest.raises(SettingError, match="no log 'passed'"):
        weft.log("passed")
    caplog.set_level(logging.DEBUG, "weft.passes")
    cuda.jit("void(int16[::1])")(lambda x: None)
    assert any("linearization" in r.message or "work items" in r.message for r in caplog.records)


PROGRAM = """
import numpy as np, weft
from weft import cuda
@cuda.jit
def f(x):
    x[cuda.grid(1)] = 1
x = np.zeros(64, np.float32)
for _ in range(3):
    f[1, 64](x)
"""


def test_the_environment_chooses_logs(tmp_path) -> None:
    (tmp_path / "k.py").write_text(PROGRAM)
    environment = {
        **os.environ,
        "WEFT_CACHE_DIR": str(tmp_path),
        "WEFT_CHECK": "0",
        "WEFT_LOG": "cache, launch",
    }

    def lines() -> list[str]:
        done = subprocess.run(
            [sys.executable, "k.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        return done.stderr.splitlines()

    first, second = lines(), lines()
    assert (
        sum(line.startswith("weft.launch: launch f: grid (1, 1, 1), block (64, 1, 1),") for line in first)
        == 3
    )
    assert any(line.startswith("weft.cache: f is not there") for line in first)
    assert any(line.startswith("weft.cache: f is there") for line in second)
    assert not any("weft.passes" in line for line in first)
