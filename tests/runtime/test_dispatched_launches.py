"""Launches by machine code do what those through Python do, and hand over what they do not know."""

import gc
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda
from weft.cuda.configuration import ConfiguredKernel
from weft.errors import BarrierDivergence
from weft.runtime.dispatch import calls

pytestmark = pytest.mark.skipif(calls() is None, reason="objects lie otherwise here")


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that are checked go through Python."""
    monkeypatch.setenv("WEFT_CHECK", "0")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An item for each launch through Python."""
    found: list[int] = []
    plain = ConfiguredKernel._call

    def noted(self: ConfiguredKernel, *args: Any, **named: Any) -> None:
        found.append(len(args))
        plain(self, *args, **named)

    monkeypatch.setattr(ConfiguredKernel, "_call", noted)
    return found


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = weft.get_num_threads()
    weft.set_num_threads(request.param)
    yield request.param
    weft.set_num_threads(before)


def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def test_launches_are_those_of_python(threads: int, seen: list[int]) -> None:
    kernel = cuda.jit(axpy)
    for n in (1, 65, 1000, 100_003):
        x, y = np.arange(n, dtype=np.float64), np.ones(n)
        for round in range(1, 5):
            kernel[(n + 63) // 64, 64](2.0, x, y)
            np.testing.assert_array_equal(y, 1 + 2.0 * round * x)
    assert len(seen) == 4, "one for each grid"


def test_grids_of_several_dimensions_and_scratch_memory(threads: int, seen: list[int]) -> None:
    @cuda.jit
    def places(out):
        near = cuda.local.array(4, np.int32)
        x, y = cuda.grid(2)
        for k in range(4):
            near[k] = 100 * x + y + k
        if x < out.shape[0] and y < out.shape[1]:
            out[x, y] = near[(x + y) % 4] + cuda.gridDim.x * cuda.blockDim.y

    x, y = np.indices((37, 21))
    for _ in range(3):
        out = np.zeros((37, 21), np.int32)
        places[(5, 6), (8, 4)](out)
        np.testing.assert_array_equal(out, 100 * x + y + (x + y) % 4 + 20)
    assert len(seen) == 1


def test_arrays_that_are_not_simple_go_through_python(seen: list[int]) -> None:
    @cuda.jit
    def follow(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] + 1

    launch = follow[4, 32]
    whole = np.arange(101.0)
    apart = np.zeros(100)
    for _ in range(3):
        launch(whole[:100], apart)
    assert len(seen) == 1
    for x, y in (
        (whole[:100:2], apart[::2]),
        (np.arange(100.0), cuda.to_device(np.zeros(100))),
    ):
        before, wanted = len(seen), np.array(x) + 1
        launch(x, y)
        np.testing.assert_array_equal(np.asarray(y), wanted)
        assert len(seen) == before + 1


def test_device_arrays_are_launched_by_machine_code(seen: list[int]) -> None:
    launch = cuda.jit(axpy)[2, 64]
    x, y = np.arange(100.0), cuda.to_device(np.ones(100))
    for round in range(1, 5):
        launch(2.0, cuda.to_device(x), y)
        np.testing.assert_array_equal(y.copy_to_host(), 1 + 2.0 * round * x)
    known = len(seen)
    assert known <= 2
    # Of another kind, in steps, and one that lies upon the other.
    launch(2.0, cuda.to_device(x.astype(np.float32)), y)
    launch(2.0, cuda.to_device(np.repeat(x, 2))[::2], y)
    np.testing.assert_array_equal(y.copy_to_host(), 1 + 2.0 * 6 * x)
    assert len(seen) == known + 2
    launch(1.0, y, y)
    np.testing.assert_array_equal(y.copy_to_host(), 2 + 4.0 * 6 * x)


def test_kernels_with_barriers_are_launched_by_machine_code(threads: int, seen: list[int]) -> None:
    @cuda.jit
    def sums(x, y):
        part = cuda.shared.array(64, np.float64)
        t = cuda.threadIdx.x
        part[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        if y[0] < 0:
            if t < 32:
                cuda.syncthreads()
            else:
                cuda.syncthreads()
        if t == 0:
            total = 0.0
            for k in range(64):
                total += part[k]
            y[cuda.blockIdx.x] = total

    launch = sums[5, 64]
    x, y = np.arange(320.0), np.zeros(5)
    for k in range(4):
        launch(x + k, y)
        np.testing.assert_array_equal(y, (x + k).reshape(5, 64).sum(1))
    assert len(seen) <= 2
    known = len(seen)
    for _ in range(2):
        y[0] = -1
        with pytest.raises(BarrierDivergence, match="threads of block") as raised:
            launch(x, y)
        assert raised.value.span is None or "test_dispatched_launches" in str(raised.value.span)
    assert len(seen) == known


def test_empty_arrays_are_launched_by_machine_code(seen: list[int]) -> None:
    launch = cuda.jit(axpy)[2, 64]
    x, y = np.arange(100.0), np.ones(100)
    for _ in range(4):
        launch(2.0, x, y)
    known = len(seen)
    launch(2.0, x[:0], y[50:50])
    launch(2.0, x[7:7], y)
    # One that is empty overlaps nothing, wherever it is.
    launch(2.0, y[50:50], y[:0])
    assert len(seen) == known
    np.testing.assert_array_equal(y, 1 + 8.0 * x)


@pytest.mark.parametrize("first", ["apart", "overlapping"])
def test_code_for_arrays_that_overlap_has_a_record_of_its_own(first: str, seen: list[int]) -> None:
    @cuda.jit
    def sums(x, y):
        i = cuda.grid(1)
        for k in range(4):
            y[i] += x[k]

    launch = sums[1, 1]

    def apart() -> None:
        x, y = np.arange(4.0), np.zeros(4)
        launch(x, y)
        assert y.tolist() == [6.0, 0, 0, 0]

    def overlapping() -> None:
        x = np.arange(4.0)
        launch(x, x[1:])
        assert x.tolist() == [0.0, 7.0, 2.0, 3.0]
        x = np.arange(4.0)
        launch(x, x)
        assert x.tolist() == [6.0, 1.0, 2.0, 3.0]

    for _ in range(3):
        for each in (apart, overlapping) if first == "apart" else (overlapping, apart):
            each()
    (compiled,) = sums.overloads.values()
    assert compiled.terms.arrays_apart
    assert len(seen) == 2, "one for arrays apart, and one for others"
    for _ in range(12):
        overlapping()
        apart()
    assert len(seen) == 2


def test_code_that_arrays_may_overlap_for_has_one_record(seen: list[int]) -> None:
    @cuda.jit
    def twice(x, y):
        i = cuda.grid(1)
        y[i] = 2 * x[i]

    launch = twice[1, 4]
    for _ in range(3):
        x, y = np.arange(4.0), np.zeros(4)
        launch(x, x)
        launch(x, y)
        assert y.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert len(seen) == 1


def test_other_numbers_of_threads_and_other_threads(seen: list[int]) -> None:
    kernel = cuda.jit(axpy)
    x, y = np.ones(100_000), np.zeros(100_000)
    before = weft.get_num_threads()
    try:
        for count in (1, 2, 1, 2):
            weft.set_num_threads(count)
            for _ in range(3):
                kernel[400, 256](1.0, x, y)
    finally:
        weft.set_num_threads(before)
    assert len(seen) == 4, "the first after each change"
    worker = threading.Thread(target=lambda: [kernel[400, 256](1.0, x, y) for _ in range(3)])
    worker.start()
    worker.join()
    assert len(seen) == 5 and (y == 15).all()


def test_launches_of_threads_at_a_time_have_scratch_memory_of_their_own(seen: list[int]) -> None:
    @cuda.jit
    def mixed(x, y, order, rounds):
        s = cuda.shared.array((8, 64), np.float64)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        for k in range(8):
            s[k, t] = x[i] + k
        for _ in range(rounds):
            for k in range(8):
                s[order[k], t] = s[order[k + 1], t]
        total = 0.0
        for k in range(8):
            total += s[k, t]
        y[i] = total

    launch = mixed[8, 64]
    x = np.arange(512.0)
    order = np.array([3, 1, 4, 2, 7, 6, 0, 5, 3])
    wanted = np.zeros(512)
    launch(x, wanted, order, 3000)
    assert len(seen) == 1
    wrong: list[int] = []
    start = threading.Barrier(6)

    def work(k: int) -> None:
        start.wait()
        for _ in range(10):
            y = np.zeros(512)
            launch(x + k, y, order, 3000)
            if not np.array_equal(y, wanted + 8 * k):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(seen) == 1, "six launches at a time are all of machine code"


def test_extensions_that_are_added_later_are_asked(seen: list[int]) -> None:
    class Doubled:
        def prepare_args(self, type: Any, value: Any, stream: object, retr: list[Any]) -> tuple[Any, Any]:
            return (type, 2 * value) if isinstance(value, float) else (type, value)

    kernel = cuda.jit(axpy)
    x, y = np.ones(10), np.zeros(10)
    launch = kernel.forall(10)
    for _ in range(3):
        launch(1.0, x, y)
    kernel.extensions.append(Doubled())
    launch(1.0, x, y)
    assert y.tolist() == [5.0] * 10


def test_code_is_there_as_long_as_launches_know_it() -> None:
    kernel = cuda.jit(axpy)
    launch, x, y = kernel[1, 32], np.ones(10), np.zeros(10)
    launch(1.0, x, y)
    kernel.overloads.clear()
    kernel._specializations.made.clear()
    gc.collect()
    launch(1.0, x, y)
    assert y.tolist() == [2.0] * 10


def test_checking_may_begin_later() -> None:
    @cuda.jit
    def outside(x):
        x[cuda.grid(1)] = 1

    launch, whole = outside[1, 8], np.zeros(8)
    for _ in range(2):
        launch(whole)
    outside.debug = True
    with pytest.raises(weft.errors.SanitizerError):
        launch(whole[:4])
    outside.debug = False
    launch(whole)
    assert whole.all()


def test_wrong_arguments_are_refused_by_python() -> None:
    launch = cuda.jit(axpy)[1, 32]
    x, y = np.ones(10), np.zeros(10)
    for _ in range(2):
        launch(1.0, x, y)
    with pytest.raises(weft.errors.ArgumentError):
        launch(1.0, x)
    with pytest.raises(weft.errors.ArgumentError):
        launch(1.0, x, y, a=2.0)
    with pytest.raises(weft.errors.WeftError):
        launch(1.0, "x", y)
    assert y.tolist() == [2.0] * 10


def test_a_signal_handler_may_launch_amid_a_launch() -> None:
    @cuda.jit
    def slow(out, rounds):
        near = cuda.local.array(8, np.int64)
        i = cuda.grid(1)
        for k in range(8):
            near[k] = k
        for r in range(rounds):
            near[(r + i) % 8] += r & 1
        for k in range(8):
            out[i] += near[k]

    def handler(number: int, frame: object) -> None:
        inner = np.zeros(64, np.int64)
        slow[2, 32](inner, 1000)
        found.append(inner)

    found: list[np.ndarray] = []
    out = np.zeros(64, np.int64)
    for rounds in (1000, 1000):
        slow[2, 32](out, rounds)
    wanted = out // 2
    out[:] = 0
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        slow[2, 32](out, 20_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert out.tolist() == [28 + 10_000_000] * 64
    assert len(found) <= 1 and all(np.array_equal(inner, wanted) for inner in found)
