"""Of processes that want an entry at the same time one makes it, and none waits for ever."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from weft.runtime.cache import CacheEntry, ObjectCache, cache_key
from weft.runtime.one_maker import only_maker

KEY = cache_key("kernel")
HOLDING = """
import sys, time
from pathlib import Path
from weft.runtime.one_maker import only_maker
with only_maker(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a lock, and the lock."""
    lock = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(lock)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process, lock
    process.kill()
    process.communicate()


def test_a_lock_is_gone_with_its_holder(holder):
    process, lock = holder
    os.kill(process.pid, signal.SIGKILL)
    start = time.monotonic()
    with only_maker(lock):
        assert lock.exists()
    assert time.monotonic() - start < 5 and not lock.exists()


def test_patience_ends(holder):
    _, lock = holder
    start = time.monotonic()
    with only_maker(lock, patience=0.1):
        assert 0.1 <= time.monotonic() - start < 5
    assert lock.exists()


def test_who_has_a_lock_may_take_it_again(tmp_path):
    lock = tmp_path / "lock"
    with only_maker(lock):
        with only_maker(lock):
            pass
        assert lock.exists()
    assert not lock.exists()


def test_where_nothing_can_be_locked_all_make(tmp_path):
    with only_maker(tmp_path / "missing" / "lock"):
        pass


def test_an_entry_that_came_while_waiting_is_taken(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path / "cache")
    looks = iter([None, CacheEntry(b"theirs")])
    monkeypatch.setattr(ObjectCache, "get", lambda *_: next(looks))
    assert cache.get_or_make(KEY, lambda: CacheEntry(b"ours")).code == b"theirs"


def test_nothing_of_locks_stays_behind(tmp_path):
    cache = ObjectCache(tmp_path / "cache")
    assert cache.get_or_make(KEY, lambda: CacheEntry(b"ours")).code == b"ours"
    assert [file.suffix for file in cache.directory.rglob("*") if file.is_file()] == [".weft"]


PROGRAM = """
import sys, time
import numpy as np
import weft
from weft import cuda

@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

@weft.jit
def total(a):
    s = 0
    for i in weft.prange(a.size):
        s += a[i]
    return s

x = np.zeros(100, np.int64)
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.readline()
with weft.profile() as seen:
    kernel[1, 128](x)
    assert total(x) == 100
print(*(f"{event.name}:{event.kind}" for event in seen.events))
"""


def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "WEFT_CHECK": "0"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(program)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    counts: Counter[str] = Counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        counts.update(process.communicate()[0].split())
    assert counts["kernel:compile"] == counts["total:compile"] == 1
    assert counts["kernel:load"] == counts["total:load"] == 3
