"""Ctrl-C while compiled code runs: in every door, at every moment, with every kind of handler."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import weft
from weft.runtime.interrupts import interrupts, interrupts_module
from weft.target.machine import TargetSpec, emit_object
from weft.target.signals import raising_behind_finalizers


@pytest.fixture(autouse=True)
def _machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")


SCRIPT = """
import os, random, signal, sys, threading, time
import numpy as np
import weft
from weft import cuda, prange

# A process that a shell runs in the background begins with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
SOON = 4

def send():
    os.kill(os.getpid(), signal.SIGINT)

def ended(run, error=KeyboardInterrupt, after=0.05):
    "Whether an interrupt ends what would run for ever; the error is raised a second after it at the latest."
    sent = []
    timer = threading.Timer(after, lambda: (sent.append(time.monotonic()), send()))
    timer.start()
    try:
        run()
    except error:
        timer.join()
        return time.monotonic() - sent[0] < SOON
    return False

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

@cuda.jit
def waits(x):
    # Atomic operations see what others write meanwhile.
    i = cuda.grid(1)
    while cuda.atomic.add(x, i, 1) > 0:
        if cuda.atomic.max(x, i, 0) > 100:
            cuda.atomic.sub(x, i, 99)

@cuda.jit
def meets(x):
    i = cuda.grid(1)
    while x[cuda.blockIdx.x] > 0:
        x[i] = 1
        cuda.syncthreads()

@cuda.jit
def tells(x):
    i = cuda.grid(1)
    while x[i] > 0:
        x[i] += 1
        if x[i] > 100:
            x[i] = 1
            print(x[i])

@weft.jit
def counts(x):
    n = 0
    while x[0] > 0:
        n += 1
    return n

@weft.jit
def says(x):
    while x[0] > 0:
        print(x[0])

@weft.jit
def nested(n):
    found = 0
    for i in range(n):
        for j in range(n):
            found ^= i * j
            if found == 77:
                found += 1
    return found

@weft.jit
def shared(x):
    total = 0
    for i in prange(x.size):
        n = x[i]
        while n > 0:
            n = n % 100 + 1
        total += n
    return total

@weft.jit
def arrays(x, n):
    total = 0.0
    for i in prange(n):
        a = np.ones(1_000_000)
        while x[0] > 0:
            a[0] = a[0] % 7 + 1
        total += a[0]
    return total

@cuda.jit
def parts(x, n):
    i = cuda.grid(1)
    v = x[i]
    for k in range(n - i):
        v = v * 31 + k
        if v == 5:
            v += i
    x[i] = v

@cuda.jit
def between(x, n):
    i, s = cuda.grid(1), cuda.shared.array(16, np.int64)
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    v = 0
    for k in range(n):
        v = v * 3 + s[15 - cuda.threadIdx.x]
    cuda.syncthreads()
    x[i] = v

@weft.jit
def hashed(n):
    h = 7
    for k in range(n):
        h = h * 31 + k
    return h

@weft.jit
def sines(n):
    s = 0.0
    for k in range(n):
        s += np.sin(s + k)
    return s

@weft.jit
def lanes(x, n):
    for i in prange(x.size):
        h = x[i]
        for k in range(n):
            h = h * 31 + k
        x[i] = h

@weft.jit
def one_by_one(x, n):
    for i in prange(x.size):
        h = hashed(n) ^ i
        for k in range(n):
            h = h * 31 + x[h & 7]
        x[i] = h

@weft.jit
def makes(n):
    total = 0.0
    for k in range(n):
        total += np.ones(1_000_000)[k % 10]
    return total

@weft.vectorize
def long_each(x, n):
    for k in range(n):
        x = x * 31 + k
    return x

@weft.vectorize
def each(n):
    while n > 0:
        n = n % 100 + 1
    return n

@weft.guvectorize(["void(int64[:], int64[:])"], "(n)->()")
def rows(x, out):
    total = 0
    for k in range(x.size):
        n = x[k]
        while n > 0:
            n = n % 100 + 1
        total += n
    out[0] = total

@cuda.jit(debug=True)
def slow(x):
    while x[0] > 0:
        x[0] = x[0] % 100 + 1
"""


def script(body: str, folder: Path, timeout: float = 60) -> None:
    """Run the body, with what the script defines; it prints what a test expects."""
    file = folder / "script.py"
    file.write_text(
        f"{SCRIPT}\nif __name__ == '__main__':\n" + textwrap.indent(body, "    ") + "\n    print('done')"
    )
    # Python 3.12 and later warn of forks in a process of several threads, which is what is tried here.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", file]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_what_runs_for_ever(threads: int, tmp_path: Path) -> None:
    script(
        f"""
weft.set_num_threads({threads})
doors = {{
    "one thread": lambda x: waits[1, 1](x),
    "kernel": lambda x: waits[16, 16](x),
    "barriers": lambda x: meets[16, 16](x),
    "many groups": lambda x: add[1_000_000 if x[0] else 1, 1](huge, 5_000),
    "serial": counts,
    "loops around loops": lambda x: nested(10**7 if x[0] else 1),
    "prange": shared,
    "arrays": lambda x: arrays(x, 8),
    "vectorize": each,
    "guvectorize": lambda x: rows(x.reshape(16, 16)),
    "debug": lambda x: slow[1, 1](x),
}}
huge = np.zeros(1_000_000, np.int64)
for name, door in doors.items():
    door(np.zeros(256, np.int64))
    for _ in range({threads}):
        assert ended(lambda: door(np.ones(256, np.int64))), name
        assert right(), name
output = sys.stdout
with open(os.devnull, "w") as sys.stdout:
    for door in (tells[1, 1], tells[16, 16], says):
        door(np.zeros(256, np.int64))
        assert ended(lambda: door(np.ones(256, np.int64)))
        assert right()
sys.stdout = output
""",
        tmp_path,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_innermost_loops_that_count(threads: int, tmp_path: Path) -> None:
    script(
        f"""
weft.set_num_threads({threads})
x = np.arange(1, 257)
doors = {{
    "one thread": lambda n: add[1, 1](x, n),
    "lanes": lambda n: add[16, 16](x, n),
    "parts of lanes": lambda n: parts[16, 16](x, n),
    "boxes": lambda n: add[16, (2, 8)](x, n),
    "barriers": lambda n: between[16, 16](x, n),
    "serial": hashed,
    "a library": sines,
    "prange": lambda n: lanes(x, n),
    "prange, one by one": lambda n: one_by_one(x, n),
    "arrays": makes,
    "vectorize": lambda n: long_each(x, n),
}}
for name, door in doors.items():
    door(3)
    for _ in range({threads}):
        assert ended(lambda: door(2**62)), name
        assert right(), name
""",
        tmp_path,
    )


def test_no_interrupt_is_lost_at_any_moment(tmp_path: Path) -> None:
    """So many as WEFT_FUZZ says, or 200: while a launch begins, runs, ends, and between launches."""
    count = int(os.environ.get("WEFT_FUZZ") or 200)
    script(
        f"""
weft.set_num_threads(3)
right(), right(500)
for k in range({count}):
    sent = []
    timer = threading.Timer(random.random() * 0.006, lambda: (sent.append(time.monotonic()), send()))
    try:
        try:
            timer.start()
            end = time.monotonic() + 20
            while time.monotonic() < end:
                right(random.choice([2, 2, 2, 500]))
            raise AssertionError(f"interrupt {{k}} is lost")
        finally:
            timer.join()
    except KeyboardInterrupt:
        assert time.monotonic() - sent[0] < SOON
assert right()
""",
        tmp_path,
        timeout=60 + count / 5,
    )


def test_a_launch_goes_on_when_the_handler_returns(tmp_path: Path) -> None:
    script(
        """
calls, over = [], []
def note(number, frame):
    calls.append(number)
    # The handler may compile and launch, and put another handler in its place.
    assert right()
    if len(calls) == 3:
        signal.signal(signal.SIGINT, replaced)
    over.append(number)

def replaced(number, frame):
    raise ZeroDivisionError

weft.set_num_threads(2)
for door in (lambda x: waits[16, 16](x), counts, shared):
    door(np.zeros(256, np.int64))
    calls.clear(), over.clear()
    signal.signal(signal.SIGINT, note)
    x = np.ones(256, np.int64)
    def press():
        for k in range(4):
            time.sleep(0.05)
            send()
            # The handler takes long where it compiles, and the last one is for the other handler.
            while len(over) == k < 3:
                time.sleep(0.001)
    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        door(x)
        raise AssertionError("not interrupted")
    except ZeroDivisionError:
        assert len(calls) == 3
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pressing.join()

# The whole result is there.
signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
before = len(calls)
x = np.arange(1 << 20)
threading.Timer(0.02, send).start()
while len(calls) == before:
    x[:] = np.arange(1 << 20)
    add[1 << 12, 256](x, 400)
expected = np.arange(1 << 20)
for k in range(400):
    expected = expected * 3 + 1
assert (x == expected).all()
assert signal.getsignal(signal.SIGINT).__name__ == "<lambda>"
""",
        tmp_path,
    )


def test_registers_and_the_signal_mask_are_kept(tmp_path: Path) -> None:
    """Interrupts find the threads at any instruction of code that has masks, vectors and sums in registers."""
    script(
        """
@cuda.jit
def mixes(x, n):
    i = cuda.grid(1)
    a, b, s = x[i], np.float64(i), 0
    for k in range(n):
        if a % 7 < 4:
            b = b * 0.999 + a
            s += k
        a = a * 48271 % 2147483647 + (1 if b > 1e6 else 2)
    x[i] = a + s + int(b)

@weft.jit
def adds(n):
    total, other = 0.0, 1.0
    for k in range(n):
        total += other * 0.5
        other = 1.0 - other * 0.25
    return total

def handle(number, frame):
    calls.append(number)
    assert right()
    signal.pthread_sigmask(signal.SIG_BLOCK if len(calls) % 2 else signal.SIG_UNBLOCK, [signal.SIGUSR2])

weft.set_num_threads(2)
x = np.arange(64)
mixes[4, 16](x, 3), adds(3), right()
for door in (lambda: (mixes[4, 16](y := x.copy(), 3_000_000), y.tolist())[1], lambda: adds(100_000_000)):
    expected = door()
    calls = []
    signal.signal(signal.SIGINT, handle)
    over = threading.Event()
    def press():
        # The door goes on between two of them, however long the handler takes.
        while not over.wait(0.003):
            told = len(calls)
            send()
            while len(calls) == told and not over.is_set():
                time.sleep(0.001)
    pressing = threading.Thread(target=press)
    pressing.start()
    while len(calls) < 6:
        assert door() == expected
    over.set()
    pressing.join()
    blocked = signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert blocked == len(calls) % 2
""",
        tmp_path,
    )


def test_code_that_is_unloaded_is_covered_no_more() -> None:
    @weft.jit
    def function(n: int) -> int:
        return n + 1

    def covered() -> int:
        return sum(place.end > 0 for place in interrupts()._ranges)

    gc.collect()
    before = covered()
    function(1)
    assert covered() == before + 1
    del function
    gc.collect()
    assert covered() == before


def test_interrupts_reach_the_main_thread_only_and_children_too(tmp_path: Path) -> None:
    script(
        """
weft.set_num_threads(2)
x = np.zeros(256, np.int64)
waits[16, 16](x)

# The launch of another thread is as if nothing happened.
x = np.ones(256, np.int64)
other = threading.Thread(target=lambda: waits[16, 16](x), daemon=True)
other.start()
for _ in range(3):
    assert ended(lambda: waits[16, 16](np.ones(256, np.int64)))
    assert ended(lambda: time.sleep(100))
    assert other.is_alive()
x[:] = 0
while other.is_alive():
    x[:] = 0
    other.join(0.01)
assert right()

# A child of a thread whose parent is in a launch.
def fork():
    child = os.fork()
    if not child:
        fine = ended(lambda: waits[16, 16](np.ones(256, np.int64))) and right()
        os._exit(3 if fine else 4)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    send()

codes = []
threading.Timer(0.05, fork).start()
try:
    waits[16, 16](np.ones(256, np.int64))
except KeyboardInterrupt:
    assert codes == [3]

# Ignored is ignored, and the end of a process is one.
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Timer(0.01, send).start()
end = time.monotonic() + 0.1
while time.monotonic() < end:
    assert right(500)
child = os.fork()
if not child:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Timer(0.05, send).start()
    waits[16, 16](np.ones(256, np.int64))
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGINT
""",
        tmp_path,
    )


def test_an_interrupt_frees_the_arrays_of_what_it_ends(tmp_path: Path) -> None:
    script(
        """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

weft.set_num_threads(2)
arrays(np.zeros(1, np.int64), 4)
assert ended(lambda: arrays(np.ones(1, np.int64), 4))
before = resident()
for _ in range(8):
    assert ended(lambda: arrays(np.ones(1, np.int64), 4))
assert resident() - before < 4 * 8_000_000
""",
        tmp_path,
    )


def test_no_interrupt_is_lost_while_something_is_compiled(tmp_path: Path) -> None:
    script(
        """
os.environ["WEFT_CACHE"] = "0"

def compiles():
    cuda.jit(waits.py_func).compile("void(int64[::1])")

compiles()
for k in range(20):
    sent = []
    timer = threading.Timer(random.random() * 0.06, lambda: (send(), sent.append(1)))
    try:
        try:
            timer.start()
            while not sent:
                compiles()
            compiles()
            raise AssertionError(f"interrupt {k} is lost")
        finally:
            timer.join()
    except KeyboardInterrupt:
        pass
other = threading.Thread(target=compiles)
other.start()
other.join()
""",
        tmp_path,
    )


def test_an_interrupt_in_a_finalizer_is_raised_behind_the_compilation() -> None:
    class Garbage:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    went_on: list[bool] = []

    def compiles() -> None:
        with raising_behind_finalizers():
            Garbage()
            went_on.append(True)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiles()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert went_on


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_interrupts_compile_for_every_machine_that_has_a_pool(triple: str) -> None:
    assert emit_object(interrupts_module(triple), TargetSpec(triple)).startswith(b"\x7fELF")
