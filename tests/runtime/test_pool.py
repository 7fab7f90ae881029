import ctypes
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from group_kernels import ACCOUNT, Account, loaded
from weft.runtime.pool import JOB, Pool, default_pool
from weft.runtime.pool_ir import SLOT_COUNT, pool_module, supported
from weft.target.machine import TargetSpec, emit_object

pytestmark = pytest.mark.skipif(not supported(TargetSpec.chosen().triple), reason="needs Linux")


@pytest.fixture(scope="module")
def pool() -> Pool:
    pool = default_pool()
    assert pool is not None
    return pool


def run(pool: Pool, account: Account, groups: int, threads: int, chunk: int = 1) -> int:
    entry = loaded(ACCOUNT, "account").address("account")
    job = bytearray(JOB.size)
    JOB.pack_into(job, 0, entry, ctypes.addressof(account), groups, threads, chunk)
    return pool.launch(ctypes.addressof(ctypes.c_char.from_buffer(job)), threads)


@given(
    groups=st.integers(1, 3000), threads=st.integers(1, 9), chunk=st.integers(1, 40), delay=st.integers(0, 40),
    long=st.booleans(),
)  # fmt: skip
def test_each_group_runs_once_in_aligned_runs_and_no_worker_twice_at_a_time(
    pool, groups, threads, chunk, delay, long
):
    account = Account(groups, chunk, delay)
    assert run(pool, account, groups, threads, -chunk if long else chunk) == 0
    assert set(account.group_counts) == {1}
    assert account.faults == 0
    assert account.workers_seen < 1 << threads


@pytest.mark.parametrize(("groups", "threads", "chunk"), [(1000, 1, 7), (1, 8, 1), (40, 8, 40)])
def test_launch_for_one_thread_or_of_one_run_stays_on_the_caller(pool, groups, threads, chunk):
    run(pool, Account(100, 1), 100, 8)
    account = Account(groups, chunk, delay=10_000)
    assert run(pool, account, groups, threads, chunk) == 0
    assert account.workers_seen == 1


def test_workers_that_sleep_are_woken_and_take_part(pool):
    run(pool, Account(100, 1), 100, 3)
    time.sleep(0.02)
    account = Account(400, 1, delay=200_000)
    run(pool, account, 400, 3)
    assert account.workers_seen & ~1
    assert set(account.group_counts) == {1}


def test_first_failure_is_returned_and_stops_the_handing_out(pool):
    account = Account(1_000_000, 1, delay=500, fail_at=10)
    assert run(pool, account, 1_000_000, 2) == 7
    assert sum(account.group_counts) < 500_000
    assert max(account.group_counts) == 1
    again = Account(50, 1)
    assert run(pool, again, 50, 2) == 0
    assert set(again.group_counts) == {1}


@pytest.mark.parametrize("callers", [8, SLOT_COUNT + 8])
def test_launches_from_many_python_threads_do_not_disturb_each_other(pool, callers):
    found: list[str] = []

    def call(seed: int) -> None:
        for k in range(250):
            groups = 1 + (seed * 37 + k * 101) % 400
            account = Account(groups, 1 + k % 3, delay=seed)
            fail = k % 7 == 0
            account.fail_at = groups // 2 if fail else -1
            status = run(pool, account, groups, 1 + k % 4, 1 + k % 3)
            counts = set(account.group_counts)
            if account.faults or status != 7 * fail or not counts <= {0, 1} or (not fail and counts != {1}):
                found.append(f"{seed} {k}: status {status}, counts {counts}, faults {account.faults}")

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not found


def test_workers_leave_signals_to_python(pool):
    run(pool, Account(10, 1), 10, 2)
    workers = [status for status in statuses_of_threads() if status["Name"].startswith("weft-")]
    assert workers
    interrupt = 1 << 1
    for worker in workers:
        assert int(worker["SigBlk"], 16) & interrupt


def statuses_of_threads() -> list[dict[str, str]]:
    """What Linux says of each thread of this process; threads that other tests left may end meanwhile."""
    found: list[dict[str, str]] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = (line.partition(":") for line in task.joinpath("status").read_text().splitlines())
            found.append({key: value.strip() for key, _, value in lines})
    return found


SCRIPT = """
import ctypes, os, sys, threading, time
sys.path.insert(0, {tests!r})
from group_kernels import ACCOUNT, Account, loaded
from weft.runtime.pool import JOB, default_pool

def run(groups, threads, delay=0):
    account = Account(groups, 1, delay)
    job = bytearray(JOB.size)
    entry = loaded(ACCOUNT, "account").address("account")
    JOB.pack_into(job, 0, entry, ctypes.addressof(account), groups, threads, 1)
    default_pool().launch(ctypes.addressof(ctypes.c_char.from_buffer(job)), threads)
    assert set(account.group_counts) == {{1}}, "a group was lost"

def forever():
    while True:
        run(500, 3, 20)

run(500, 3)
"""


def script(body: str) -> subprocess.CompletedProcess[str]:
    text = SCRIPT.format(tests=str(Path(__file__).parent.parent)) + body
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)


def test_pool_works_in_a_forked_child_while_the_parent_launches():
    result = script("""
threading.Thread(target=forever, daemon=True).start()
for _ in range(10):
    time.sleep(0.002)
    child = os.fork()
    if not child:
        assert default_pool().workers == 0
        run(500, 3)
        assert default_pool().workers == 2
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    run(500, 3)
print("done")
""")
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


@pytest.mark.parametrize(
    "at_exit", ["", "threading.Thread(target=forever, daemon=True).start(); time.sleep(0.02)"]
)
def test_interpreter_shuts_down_with_workers_spinning_asleep_or_in_a_launch(at_exit):
    for delay in ("", "time.sleep(0.05)"):
        result = script(f"{at_exit}\n{delay}\nprint('done')")
        assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_pool_compiles_for_every_machine_that_has_one(triple):
    assert emit_object(pool_module(triple), TargetSpec(triple)).startswith(b"\x7fELF")
