"""Messages between a library in a host program and the process that compiles for it.

A message is a length in 8 bytes and so many bytes, which are fields: a length in 8 bytes and so many bytes each.
Numbers are fields of 8 bytes. The other side is ``c/compiler.c``: it starts the process, asks over a socket, and leaves
the process to end with it. Requests say all that is needed to answer them, so a process keeps nothing but what makes
answers faster.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from weft.codegen.arena import ArenaNeeds
from weft.codegen.order.run_unit import RunUnit
from weft.device.compiled import CompiledKernel
from weft.device.host.shared_library import kernel_library
from weft.runtime.row_numbers import Known, slots_of_difference

_LENGTH = struct.Struct("<Q")
NUMBER = struct.Struct("<q")
"""How numbers are written."""


class Answer(Struct):
    """Fields of an answer, in order."""

    fields: list[bytes] = field(default_factory=list)

    def add(self, *values: int | str | bytes) -> Answer:
        """Append fields."""
        for value in values:
            data = NUMBER.pack(value) if isinstance(value, int) else value
            self.fields.append(data.encode() if isinstance(data, str) else data)
        return self

    def packed(self) -> bytes:
        """The message."""
        body = b"".join(_LENGTH.pack(len(f)) + f for f in self.fields)
        return _LENGTH.pack(len(body)) + body


def read_fields(body: bytes) -> Iterator[bytes]:
    """The fields of a message."""
    at = 0
    while at < len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        yield body[at + 8 : at + 8 + length]
        at += 8 + length


def code_answer(code: CompiledKernel, block: tuple[int, int, int]) -> Answer:
    """Code of a kernel for work-groups of one size, as ``c/code.c`` reads it.

    Raises
    ------
    WeftError
        It cannot be compiled, or linked.
    """
    library = kernel_library(code.object_code())
    facts: Any = code.facts
    arena = ArenaNeeds(**facts["arena"])
    lanes = (*arena.lanes, 1, 1, 1)[:3]
    chunk = RunUnit(**facts["run_unit"]).groups(block)
    # The host compares slots with numbers only, and extents of arrays are Python's.
    lengths = [pair for pair in code.row_numbers if slots_of_difference(pair[0]) is None]
    made = Answer().add(0, str(library), facts["entry"], arena.fixed, arena.per_lane_group, *lanes, chunk)
    return made.add(len(lengths), *(n for pair in lengths for n in pair))


def no_code(status: int, message: str) -> Answer:
    """That there is none, and why."""
    return Answer().add(status, message, "", 0, 0, 1, 1, 1, 1, 0)


def known_lengths(fields: Sequence[bytes]) -> Known:
    """Slots and the lengths in them, in pairs of fields."""
    numbers = [NUMBER.unpack(f)[0] for f in fields]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def serve_host(answer: Callable[[Sequence[bytes]], Answer]) -> None:
    """Serve the library whose socket is the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A kernel's program is thousands of small objects: at Python's thresholds a seventh of the time goes into
    # looking for garbage among them.
    gc.set_threshold(50_000, 20, 50)
    # The host waits on nothing but the socket; what libraries print must not mix with what it prints.
    with socket.socket(fileno=os.dup(0)) as connection:
        threading.Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()
        serve(connection, answer)


def serve(connection: socket.socket, answer: Callable[[Sequence[bytes]], Answer]) -> None:
    """Answer requests until the other side is gone."""
    while (body := _received(connection)) is not None:
        try:
            connection.sendall(answer(list(read_fields(body))).packed())
        except BrokenPipeError:
            # The host has ended amid its question.
            return


def _received(connection: socket.socket) -> bytes | None:
    head = _exactly(connection, _LENGTH.size)
    return None if head is None else _exactly(connection, _LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


def _end_with(connection: int) -> None:
    """End this process when the other side is gone, whatever is being compiled for it."""
    gone = select.poll()
    gone.register(connection, select.POLLRDHUP)
    gone.poll()
    os._exit(0)
