import struct
import threading

import numpy as np
import pytest

from group_kernels import REPORT, SAXPY, SCRATCH, loaded
from weft.codegen.launch_record import RECORD
from weft.diag.errors import ArgumentError, BarrierDivergence
from weft.frontend.python import types
from weft.runtime import launch as launch_module
from weft.runtime import settings
from weft.runtime.launch import Launcher
from weft.runtime.parameters import packer_for
from weft.runtime.shape import launch_shape


@pytest.fixture(params=[1, 2, 5])
def threads(request, monkeypatch):
    monkeypatch.setattr(settings, "_chosen_threads", request.param)
    return request.param


def saxpy() -> Launcher:
    packer = packer_for("saxpy", ("a", "x", "y"), (types.float32, types.float32[::1], types.float32[::1]))
    return Launcher(loaded(SAXPY, "saxpy.groups"), "saxpy.groups", packer)


def report() -> Launcher:
    packer = packer_for("report", ("out",), (types.int64[::1],))
    return Launcher(loaded(REPORT, "report.groups"), "report.groups", packer, barrier_lines=(10, 20, 30))


def test_kernel_computes_what_numpy_does(threads):
    launcher = saxpy()
    for n in (1, 255, 256, 100_003):
        x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
        launcher.launch(launch_shape(-(-n // 256), 256), (0.5, x, y))
        np.testing.assert_array_equal(y, 1 + np.float32(0.5) * x)


def test_kernel_runs_on_the_caller_where_there_is_no_pool(monkeypatch):
    monkeypatch.setattr(launch_module, "default_pool", lambda: None)
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    saxpy().launch(launch_shape(4, 256), (2, x, y))
    np.testing.assert_array_equal(y, 2 * x)


def test_record_holds_grid_and_block(threads):
    out = np.zeros(6, np.int64)
    report().launch(launch_shape((2, 1, 2), (4, 8, 16)), (out,))
    assert out.tolist() == [2, 1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((2.0, np.ones(4, "f4"), np.ones(4)), "argument 'y' of saxpy"),
        ((10**400, np.ones(4, "f4"), np.ones(4, "f4")), "argument 'a' of saxpy: 10+ does not fit"),
        ((2.0, np.ones(4, "f4")), "takes 3 arguments"),
    ],
)
def test_nothing_is_written_when_an_argument_is_wrong(args, message):
    before = [np.copy(arg) for arg in args]
    with pytest.raises(ArgumentError, match=message):
        saxpy().launch(launch_shape(1, 4), args)
    for arg, copy in zip(args, before, strict=True):
        np.testing.assert_array_equal(arg, copy)


def test_failure_is_raised_once_with_the_block_it_happened_in(threads):
    launcher = report()
    for _ in range(3):
        with pytest.raises(BarrierDivergence, match=r"block \(1, 2, 0\)"):
            launcher.launch(launch_shape((2, 3), 1), (np.zeros(6, np.int64),))
    launcher.launch(launch_shape(5, 1), (np.zeros(6, np.int64),))


def test_failure_names_the_kernel_and_the_lines_of_the_barriers():
    with pytest.raises(BarrierDivergence, match=r"block \(5, 0, 0\) of report .* line 30 and line 10"):
        report().launch(launch_shape(9, 1), (np.zeros(6, np.int64),))


def test_no_two_workers_and_no_two_launches_share_an_arena(monkeypatch):
    monkeypatch.setattr(settings, "_chosen_threads", 3)
    code = loaded(SCRATCH, "scratch.groups")
    launcher = Launcher(
        code, "scratch.groups", packer_for("scratch", (), ()), lambda threads, dynamic, groups: dynamic
    )
    failures: list[Exception] = []

    def run() -> None:
        try:
            for k in range(30):
                launcher.launch(launch_shape(40, 1, 100 + 977 * (k % 9)), ())
        except Exception as error:
            failures.append(error)

    callers = [threading.Thread(target=run) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def test_one_launcher_serves_several_python_threads_with_their_own_arguments(monkeypatch):
    monkeypatch.setattr(settings, "_chosen_threads", 2)
    launcher, shape = saxpy(), launch_shape(8, 64)
    wrong: list[int] = []

    def run(a: int) -> None:
        x = np.full(500, a, np.float32)
        for _ in range(200):
            y = np.zeros(500, np.float32)
            launcher.launch(shape, (a, x, y))
            if not (y == a * a).all():
                wrong.append(a)

    callers = [threading.Thread(target=run, args=(a,)) for a in range(1, 9)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_record_has_the_layout_that_kernels_read():
    assert struct.calcsize(RECORD.format) == 80
    offsets = {"grid": 0, "block": 24, "args": 48, "arenas": 56, "dynamic bytes": 64, "error": 72}
    values = RECORD.pack(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    found = [int.from_bytes(values[offset : offset + 8], "little") for offset in offsets.values()]
    assert found == [1, 4, 7, 8, 9, 10]
