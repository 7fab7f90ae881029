"""Interrupts of machine code: how Ctrl-C ends a launch, wherever it is.

Python handles a signal in two steps: C code notes it, and the main thread calls the handler when it next runs
Python code. Machine code is none. What is compiled from a user's program knows nothing of interrupts, and pays nothing
for them: a thread in it is made to *look* by a signal. Code of ours looks by itself, between runs of groups
(`weft.runtime.pool_ir`), where arrays are made (`weft.ir.heap`) and behind `print`, at a word in memory,
``weft_interrupt``. Only when that is not zero does it call ``weft_poll``.

**Who sets the word.** While the main thread runs machine code, a handler of ours precedes Python's for SIGINT: it
sets bit 0 of the word and calls Python's, in that order. If SIGINT ends the process, or is ignored, it keeps
doing so. System calls would make short launches longer, so a thread, the *watch*, puts the handler in for a launch
that lasts some `TICK_NS`, and then sets the bit once, for what came before.

**Who looks.** While the word is not zero, the watch sends a signal to the main thread and to the workers, every
`PRESS_NS`: the last real-time signal that nobody handled when the runtime was set up. Its handler looks where the
thread is. In compiled code, which it knows by address (`Interrupts.cover`), it calls ``weft_poll``, between two
instructions of that code: the system has saved all registers, and puts them back if the launch goes on. Anywhere
else, in a library, in Python or in code of ours, the thread may hold a lock or be in the middle of something; it is
let alone, and is in compiled code, or looks by itself, a moment later. Compiled code may be left at any instruction: it
holds no locks, and blocks of the heap and slots of the pool are taken and given back by code of ours.

**What a poll does.** In the main thread it takes the GIL and lets Python call its handlers. If none raises, the
launch goes on as if nothing had happened. If one does, the exception stays set, and the launch is unwound. Other
threads that take part in the launch find its stop word set, and leave; bits 1 and up of the word count the
launches that are being stopped, so that all look. A launch from another thread than the main one is not
interrupted, as Python code in it would not be.

**No interrupt is lost.** The machine code is entered with the GIL, and first lets Python call its handlers: what
came before is raised there. What comes until the handler is in, the launch asks for then; what comes later, the
handler tells. What is left at the end of a launch is Python's, as the GIL is held when the handler is taken out.

**Unwinding.** A *context* on the stack of each participant has a ``jmp_buf``, taken where machine code is
called, and a thread-specific pointer leads to it. The compiled code in between has nothing to clean up but arrays that
it has allocated: their frames are chained to the context (`weft.ir.heap`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import string
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.diag.errors import LaunchError
from weft.runtime.own_code import own_code
from weft.runtime.threads import start_thread
from weft.target.jit import LoadedCode
from weft.target.machine import TargetSpec
from weft.target.once import once

_SHARED = (
    "weft_interrupt",
    "weft_poll",
    "weft_context",
    "weft_context_make",
    "weft_guard",
    "weft_look",
    "weft_unwind",
    "weft_rouse",
    "weft_interrupt_join",
)
ENTER, ALONE, _SETUP, _COVER, _WATCH, _HEAP, _RESET, _HALT, _PRINTER, _PRINT = _OWN = tuple(
    f"weft_interrupt_{name}"
    for name in ("enter", "alone", "setup", "cover", "watch", "heap", "reset", "halt", "printer", "print")
)

FUTEX_SYSCALL = {"x86_64": 202, "aarch64": 98}
"""The number of the system call on machines that have one."""

PARENT, STOP, THREAD, ASKS, FRAMES = 512, 520, 528, 536, 544
CONTEXT = 560
"""Offsets in a context, and its size; a ``jmp_buf`` comes first."""

_HANDLER_FLAGS = 0x08000004
"""``SA_SIGINFO`` and ``SA_ONSTACK``; no ``SA_RESTART``, as Python's own handler."""

_PRESS_FLAGS = 0x50000004
"""``SA_SIGINFO``, ``SA_RESTART`` and ``SA_NODEFER``: the handler may be left by a jump."""

_MACHINE = {"x86_64": (168, 296), "aarch64": (440, 40)}
"""Where the program counter and the signal mask are in what Linux gives a handler."""

PRESS_NS = 1_000_000

MOST_WORKERS = 4096

TICK_NS = 50_000_000
"""How often the watch looks: a launch is interruptible when it has lasted twice as long."""

IDLE_TICKS = 20
"""After so many without a launch it sleeps until there is one."""


def interrupts_module(triple: str) -> str:
    """The text of the module."""
    arch = triple.split("-")[0]
    counter, mask = _MACHINE[arch]
    template = string.Template(Path(__file__).with_name("interrupts.ll").read_text())
    return template.substitute(
        PARENT=PARENT,
        STOP=STOP,
        THREAD=THREAD,
        ASKS=ASKS,
        FRAMES=FRAMES,
        CONTEXT=CONTEXT,
        SIGINT=int(signal.SIGINT),
        HANDLER_FLAGS=_HANDLER_FLAGS,
        TICK_NS=TICK_NS,
        IDLE_TICKS=IDLE_TICKS,
        PRESS_FLAGS=_PRESS_FLAGS,
        PRESS_NS=PRESS_NS,
        FIRST_SIGNAL=int(signal.SIGRTMIN),
        LAST_SIGNAL=int(signal.SIGRTMAX),
        COUNTER=counter,
        MASK=mask,
        MOST_WORKERS=MOST_WORKERS,
        WORKER_BYTES=8 * MOST_WORKERS,
        ARMED=1 << 62,
        ARMING=-(1 << 63),
        futex=FUTEX_SYSCALL[arch],
    )


class _Range(ctypes.Structure):
    """A place of compiled code, in a list; empty when `end` is 0."""

    _fields_ = (("next", ctypes.c_void_p), ("begin", ctypes.c_uint64), ("end", ctypes.c_uint64))


class Interrupts:
    """The machine code, set up for this process.

    Attributes
    ----------
    shared
        Addresses of what other code of ours uses.
    enter, enter_address
        Calls a function of two pointers in the main thread.
    alone_address
        Does so in another thread.
    watch
        Address of what the watch runs.
    print
        Address of what compiled code calls to print; `print_with` takes the address of what does it.
    halt
        Lets the launch that is running there end.
    reset
        For a forked child.
    signal
        What the watch sends; 0 where all signals are taken, and compiled code runs until it calls code of ours.
    """

    def __init__(self) -> None:
        spec = TargetSpec.chosen(level=0)
        code = own_code("interrupts", interrupts_module(spec.triple), (*_SHARED, *_OWN), spec)
        self.shared = {name: code.address(name) for name in _SHARED}
        pointer = ctypes.c_void_p
        # With the GIL, and with a look at Python's error indicator behind the call.
        self.enter_address, self.alone_address = code.address(ENTER), code.address(ALONE)
        self.enter = ctypes.PYFUNCTYPE(ctypes.c_int, pointer, pointer, pointer)(code.address(ENTER))
        self.free_frames_with = ctypes.PYFUNCTYPE(None, pointer)(code.address(_HEAP))
        self.reset = ctypes.PYFUNCTYPE(None)(code.address(_RESET))
        self.print_with = ctypes.PYFUNCTYPE(None, pointer)(code.address(_PRINTER))
        self.print = code.address(_PRINT)
        self.watch = code.address(_WATCH)
        self.halt = ctypes.PYFUNCTYPE(None)(code.address(_HALT))
        python = [
            ctypes.cast(getattr(ctypes.pythonapi, name), pointer)
            for name in ("PyErr_CheckSignals", "PyEval_SaveThread", "PyEval_RestoreThread")
        ]
        setup = ctypes.PYFUNCTYPE(ctypes.c_int, pointer, pointer, pointer)(code.address(_SETUP))
        self.signal: int = setup(*python)
        self._put_in = ctypes.PYFUNCTYPE(None, pointer)(code.address(_COVER))
        # They stay in the list, and are used again.
        self._ranges: list[_Range] = []
        self._unused: list[_Range] = []

    def cover(self, code: LoadedCode) -> None:
        """Let compiled code be interrupted anywhere, for as long as it is there."""
        try:
            place = self._unused.pop()
        except IndexError:
            place = _Range()
            self._ranges.append(place)
            self._put_in(ctypes.addressof(place))
        place.begin, place.end = code.text
        weakref.finalize(code, self._uncover, place).atexit = False

    def _uncover(self, place: _Range) -> None:
        place.end = 0
        self._unused.append(place)


@once
def interrupts() -> Interrupts:
    """The interrupts of this process."""
    made = Interrupts()
    _made.append(made)
    return made


_made: list[Interrupts] = []


def interruptible(address: int, kind: Any) -> Callable[[Any, Any], Any]:
    """The machine code at an address, ``i32 (ptr, ptr)``, as a function that Ctrl-C ends in the main thread.

    `kind` is its type to ctypes, for calls from other threads.
    """
    enter, alone, ident = interrupts().enter, kind(address), threading.get_ident

    def call(a: Any, b: Any) -> Any:
        here = ident()
        if here != _watched:
            if _watched or here != threading.main_thread().ident:
                return alone(a, b)
            _watch()
        return enter(address, a, b)

    return call


_watched = 0
"""The main thread, once there is a watch over its launches."""

CALLERS = (ctypes.c_int64 * 3)(1)
"""For calls by machine code, without Python: whether it may make them, the main thread, and whether that is watched."""


def calls_by_machine_code(allowed: bool) -> None:
    """Say whether calls may be made by machine code, without Python."""
    CALLERS[0] = allowed


def _find_main_thread() -> None:
    CALLERS[1] = threading.main_thread().ident or 0
    CALLERS[2] = int(_watched != 0)


def _watch() -> None:
    global _watched
    # Without a watch each launch puts the handler in.
    with contextlib.suppress(LaunchError):
        start_thread(interrupts().watch, threading.get_ident(), "weft-watch")
    _watched = threading.get_ident()
    _find_main_thread()


def watch_main_thread() -> bool:
    """Have a watch over the launches of this thread if it is the main one; whether there was none before."""
    if _watched or threading.get_ident() != threading.main_thread().ident:
        return False
    _watch()
    return True


def _after_fork() -> None:
    global _watched
    _watched = 0
    _find_main_thread()
    for found in _made:
        found.reset()


_find_main_thread()
os.register_at_fork(after_in_child=_after_fork)
