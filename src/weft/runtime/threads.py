"""Threads that run machine code and know nothing of Python."""

from __future__ import annotations

import ctypes
import os
import signal

from weft.diag.errors import LaunchError


def start_thread(function: int, argument: int, name: str, taken: int = 0) -> None:
    """Start a detached thread that takes no signals but one, if any, so that they reach Python's threads."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_void_p()
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # Raises what has been pending, with the signals blocked.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {taken})
        error = libc.pthread_create(
            ctypes.byref(thread), None, ctypes.c_void_p(function), ctypes.c_void_p(argument)
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    if error:
        raise LaunchError(
            f"the system gives the thread pool no more threads: {os.strerror(error)}",
            hint="ask for fewer with weft.set_num_threads or WEFT_NUM_THREADS",
        )
    libc.pthread_setname_np(thread, name.encode())
    libc.pthread_detach(thread)
