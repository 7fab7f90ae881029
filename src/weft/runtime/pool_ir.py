"""The thread pool's LLVM IR, ``pool.ll``: handing out groups, joining a launch, waiting for the last.

`weft.runtime.pool` creates the threads and calls in; nothing here knows Python. The pool's memory, all zero
at first (offsets in bytes; words that different threads write are two cache lines apart, since processors
fetch lines in pairs):

====================  =====  ================================================================================
`EPOCH`               i32    counts launches; the futex that idle workers sleep on
`SLEEPERS`            i32    workers asleep or about to be
`SPIN_NS`             i64    how long a worker without work, or a caller without groups, spins before sleeping
`SLOTS` + k·`SLOT`           one launch in progress each:
  + `GATE`            i32    who may come in: free tickets in bits 0-11, workers inside in bits 12-23, and bit
                             24 if the caller sleeps until they have left; a futex
  + `OWNED`           i32    1 while a launch has the slot
  + `NEXT`            i64    the first group not handed out
  + `JOB`                    copy of the job
  + `STATUS`          i32    the first status that is not zero
  + `STOP`            i32    1 when the launch is interrupted
====================  =====  ================================================================================

A job is ``{ ptr fn, ptr ctx, i64 groups, i64 threads, i64 chunk }``, where ``fn`` is
``i32 (ptr ctx, i64 begin, i64 end, i32 worker)``.

**A launch** takes a slot, opens the gate with ``threads - 1`` tickets, adds one to the epoch, wakes
sleepers, and works. A worker comes in by exchanging a ticket for a place inside in one atomic step; the
number of the ticket is its worker index, so no two participants of a launch share one, and the caller's is
0. When no groups are left the caller takes the remaining tickets away and waits until nobody is inside.
Slots are never freed memory: a worker that looks at a gate too late finds it closed, or comes in to the
next launch, which is as good.

**No wake-up is lost**: a worker counts itself a sleeper before the kernel compares the epoch, the caller
adds to the epoch before it reads the sleepers, all sequentially consistent; one of the two sees the other.
And if one were, the caller would do the work itself.

**Interrupts.** Between runs, and while it waits, each participant looks whether it is to stop
(`weft.runtime.interrupts`). Each works under a guard. When the caller is interrupted it says so to the others,
waits until they have left, and unwinds what called it.

**Runs.** Each participant takes runs of groups as long as it measures to fill `RUN_NS`, growing at most
eightfold at a time, never more than half a fair share of what is left, in multiples of `chunk`. Where `chunk` is
negative, a run costs something by itself: a thread alone runs all groups at once then, and each of several takes its
fair share of what is left, in multiples of ``-chunk``.
"""

from __future__ import annotations

import string
from pathlib import Path

from weft.runtime.interrupts import CONTEXT, FUTEX_SYSCALL

EPOCH = 0
SLEEPERS = 128
SPIN_NS = 256
SLOTS = 384
SLOT = 384
SLOT_COUNT = 16
GATE = 0
OWNED = 4
NEXT = 128
JOB = 256
STATUS = JOB + 40
STOP = JOB + 44

POOL_SIZE = SLOTS + SLOT * SLOT_COUNT
POOL_ALIGNMENT = 128

TICKETS = 0xFFF
INSIDE_ONE = 1 << 12
INSIDE = 0xFFF << 12
WAITING = 1 << 24
MAX_THREADS = TICKETS

RUN_NS = 20_000

ALONE_NS = 2_000_000
"""A run of a launch on one thread: often enough to look for interrupts. The first is one chunk, the next 64 at most."""

WATCH_NS = 100_000_000

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

LAUNCH = "weft_pool_launch"
WORKER = "weft_pool_worker"


def supported(triple: str) -> bool:
    """Whether there is a pool for a machine: it rests on Linux's futex."""
    return "linux" in triple and triple.split("-")[0] in FUTEX_SYSCALL


def pool_module(triple: str) -> str:
    """Return the text of the pool's module for a machine that has one."""
    arch = triple.split("-")[0]
    declaration, pause = _PAUSE[arch]
    template = string.Template(Path(__file__).with_name("pool.ll").read_text())
    return template.substitute(
        EPOCH=EPOCH,
        SLEEPERS=SLEEPERS,
        SPIN_NS=SPIN_NS,
        SLOTS=SLOTS,
        SLOT=SLOT,
        SLOT_COUNT=SLOT_COUNT,
        GATE=GATE,
        OWNED=OWNED,
        NEXT=NEXT,
        JOB=JOB,
        STATUS=STATUS,
        TICKETS=TICKETS,
        INSIDE=INSIDE,
        INSIDE_ONE=INSIDE_ONE,
        WAITING=WAITING,
        # A ticket less and a participant more, in one addition.
        JOIN=INSIDE_ONE - 1,
        CLOSED=~TICKETS & 0xFFFFFFFF,
        STOP=STOP,
        CONTEXT=CONTEXT,
        WATCH_NS=WATCH_NS,
        ALONE_NS=ALONE_NS,
        ALONE_FLOOR=ALONE_NS // 64,
        RUN_NS=RUN_NS,
        RUN_FLOOR=RUN_NS // 8,
        RUN_LIMIT=1 << 40,
        # What NEXT becomes to stop a launch: more groups than a grid has, and far from overflow.
        NO_GROUPS=1 << 62,
        pause=pause,
        declare_pause=declaration,
        futex=FUTEX_SYSCALL[arch],
    )
