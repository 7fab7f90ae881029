"""Launches beside each other, within each other, in forked and spawned processes, and when things go wrong."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import weft
from at_once import at_once
from weft import cuda, prange
from weft.errors import BarrierDivergence, SanitizerError


@pytest.fixture(autouse=True)
def _machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")


def reversed_rows(x, out):
    row = cuda.shared.array(16, dtype=np.int64)
    t = cuda.threadIdx.x
    row[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = row[cuda.blockDim.x - 1 - t]


def meets(x, out):
    """Threads of the groups whose first element is negative wait at different barriers."""
    t = cuda.threadIdx.x
    if x[cuda.blockIdx.x * 16] < 0 and t >= 8:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    out[cuda.grid(1)] = x[cuda.grid(1)] + 1


@weft.jit
def sum_of(x):
    total = 0
    for i in prange(x.size):
        total += x[i]
    return total


GROUPS = 40


def numbers(seed: int) -> np.ndarray:
    return np.arange(16 * GROUPS, dtype=np.int64) + 1000 * seed


def test_what_threads_need_first_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    kernel, function = cuda.jit(reversed_rows), weft.jit(sum_of.py_func)
    compiled: list[object] = []

    def launch(number: int) -> bool:
        x = numbers(number)
        right = function(x) == x.sum()
        for block in (16, 8):
            out = np.zeros_like(x)
            kernel[x.size // block, block](x, out)
            right &= out.tolist() == x.reshape(-1, block)[:, ::-1].ravel().tolist()
        compiled.extend(
            (*kernel.overloads.values(), *kernel._specializations.made.values(), *function.overloads.values())
        )
        return right

    assert at_once(launch) == [True] * 8
    assert len(set(compiled)) == len(kernel.overloads) + len(kernel._specializations.made) + len(
        function.overloads
    )


@pytest.mark.parametrize("debug", [False, True])
def test_an_error_is_raised_in_the_thread_that_launched(debug: bool) -> None:
    kernel = cuda.jit(debug=debug)(meets)

    def launch(number: int) -> object:
        for round in range(5):
            x = numbers(number)
            out = np.zeros_like(x)
            if number % 4 == 1:
                x[16 * ((7 * round + number) % GROUPS)] = -1
            kernel[GROUPS, 16](x, out)
            if out.tolist() != (x + 1).tolist():
                return "another result"
        return "right"

    error = SanitizerError if debug else BarrierDivergence
    for number, outcome in enumerate(at_once(launch)):
        if number % 4 == 1:
            group = f"block {number}" if debug else f"block ({number}, 0, 0)"
            assert isinstance(outcome, error) and group in str(outcome)
        else:
            assert outcome == "right"


def test_groups_that_fail_at_once_tell_of_one_of_them() -> None:
    kernel, before = cuda.jit(meets), weft.get_num_threads()
    weft.set_num_threads(4)
    try:
        for _ in range(20):
            x = -1 - numbers(0)
            with pytest.raises(BarrierDivergence, match=r"line \d+ and line \d+"):
                kernel[GROUPS, 16](x, x.copy())
    finally:
        weft.set_num_threads(before)


def test_prints_of_checked_launches_in_threads_leave_the_output_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    output, limit = sys.stdout, sys.getrecursionlimit()

    @cuda.jit
    def tell(x):
        i = cuda.grid(1)
        print(i, x[i])

    x = np.arange(4)
    assert at_once(lambda number: tell[1, 4](x)) == [None] * 8
    assert sys.stdout is output and sys.getrecursionlimit() == limit
    assert sorted(capsys.readouterr().out.split("\n")) == sorted([f"{i} {i}" for i in x] * 8 + [""])


def test_an_error_in_writing_is_raised_once_behind_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def write(self, text: str) -> None:
            raise BrokenPipeError(text)

    @cuda.jit
    def tell(x):
        print(x[cuda.grid(1)])

    @weft.jit
    def say(x):
        print(x[0])

    x = np.arange(32)

    for launch in (tell[4, 8], say):
        with monkeypatch.context() as closed:
            closed.setattr(sys, "stdout", Closed())
            with pytest.raises(BrokenPipeError):
                launch(x)
        launch(x)


SCRIPT = """
import multiprocessing, os, threading, time
import numpy as np
import weft
from weft import cuda, prange

weft.set_num_threads(3)

@cuda.jit
def add(x, n):
    v = x[cuda.grid(1)]
    for k in range(n):
        v = v * 3 + 1
    x[cuda.grid(1)] = v

@weft.jit
def sum_of(x):
    total = 0
    for i in prange(x.size):
        total += x[i]
    return total

def right(n=2):
    x = np.arange(4096)
    add[256, 16](x, n)
    return sum_of(x) == (9 * np.arange(4096) + 4).sum() or n != 2

def launch_for_ever():
    while True:
        right()

def compile_for_ever():
    while True:
        cuda.jit(add.py_func).compile("void(int64[::1], int64)")
"""


def script(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "script.py"
    file.write_text(f"{SCRIPT}\nif __name__ == '__main__':\n" + textwrap.indent(body, "    "))
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)


def test_children_launch_and_compile_while_the_parent_does(tmp_path: Path) -> None:
    result = script(
        """
os.environ["WEFT_CACHE"] = "0"
assert right()
for work in (launch_for_ever, compile_for_ever):
    threading.Thread(target=work, daemon=True).start()
for k in range(3):
    child = os.fork()
    if not child:
        cuda.jit(add.py_func).compile("void(int64[::1], int64)")
        os._exit(3 if right() else 4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
for way in ("fork", "spawn"):
    with multiprocessing.get_context(way).Pool(1) as pool:
        assert pool.apply(right)
print("done")
""",
        tmp_path,
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_interpreter_ends_while_daemon_threads_launch_and_compile(tmp_path: Path) -> None:
    body = """
assert right()
for work in (launch_for_ever, launch_for_ever, compile_for_ever):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
print("done")
"""
    for _ in range(2):
        result = script(body, tmp_path)
        assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
