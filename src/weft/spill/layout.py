"""Where slots are in local and shared memory, and the code that finds their addresses once, at the entry.

Shared memory: first the slots of warp 0, then those of warp 1, and so on; behind them, one word after the other, those
of threads, each word for all threads of the block in the order of their numbers. Threads of a warp that access words of
their own are in 32 different banks, and those that access a slot of the warp get one word together: there are no
conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.machine.gpus import WARP
from weft.ptx.regalloc.places import Names
from weft.ptx.syntax import Instruction, Integer, Register, SpecialRegister, Symbol


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Slots in shared memory.

    Parameters
    ----------
    threads
        Of a block, at most.
    warp_bytes
        Bytes of the slots of a warp.
    thread_words
        Words of each thread.
    """

    threads: int
    warp_bytes: int = 0
    thread_words: int = 0

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // WARP)

    @property
    def threads_at(self) -> int:
        """Where the words of threads begin."""
        return self.warps * self.warp_bytes

    @property
    def size(self) -> int:
        """Bytes for a block."""
        return self.threads_at + 4 * self.thread_words * self.warps * WARP

    def word(self, number: int) -> int:
        """The offset of a word of a thread from its base."""
        return 4 * number * self.warps * WARP


def offsets(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets for slots of these sizes in bytes, the largest first so that all are aligned, and the sum, rounded up."""
    found = [0] * len(sizes)
    at = 0
    for number in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        found[number] = at
        at += max(2, sizes[number])
    return found, -(-at // 8) * 8


def setup(
    names: Names,
    layout: SharedLayout,
    *,
    rows: bool,
    warp_base: Register | None,
    thread_base: Register | None,
) -> list[Instruction]:
    """Compute base addresses.

    Parameters
    ----------
    names
        How words are called; the first two are free.
    layout
        The slots.
    rows
        Whether blocks have one dimension.
    warp_base, thread_base
        The registers, where they are needed.
    """
    target = warp_base if warp_base is not None else thread_base
    if target is None:
        return []
    thread, more = names.register((0,), 32), names.register((1,), 32)
    code: list[Instruction] = []
    if rows:
        code.append(_special(thread, "%tid", "x"))
    else:
        code += [_special(thread, "%tid", "z")]
        for dimension in "yx":
            code += [_special(more, "%ntid", dimension), _special(target, "%tid", dimension)]
            code.append(Instruction("mad", ("lo", "s32"), (thread, thread, more, target)))
    array = Symbol(names.slots)
    if thread_base is not None:
        code.append(Instruction("mov", ("u32",), (thread_base, array)))
        if layout.threads_at:
            at = Integer(layout.threads_at)
            code.append(Instruction("add", ("s32",), (thread_base, thread_base, at)))
        code.append(Instruction("mad", ("lo", "s32"), (thread_base, thread, Integer(4), thread_base)))
    if warp_base is not None:
        code.append(Instruction("shr", ("u32",), (thread, thread, Integer(5))))
        code.append(Instruction("mov", ("u32",), (warp_base, array)))
        size = Integer(layout.warp_bytes)
        code.append(Instruction("mad", ("lo", "s32"), (warp_base, thread, size, warp_base)))
    return code


def _special(target: Register, name: str, dimension: str) -> Instruction:
    return Instruction("mov", ("u32",), (target, SpecialRegister(name, dimension)))
