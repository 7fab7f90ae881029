"""What is written for a loop, in no language yet: kernels, and what the host does with them.

Statements of the host are those of kernels, and launches. What the host calls `blocks` is the number of blocks of the
launch before; arrays that only kernels hand to each other are *buffers*.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.ir.types import Type
from weft.loops.emission.sections import Section
from weft.loops.emission.tree import Argument, Node, Statement


class KernelPlan(Struct, frozen=True):
    """A kernel.

    Parameters
    ----------
    name, title
        The kernel, and one sentence on it.
    notes
        More sentences.
    arguments
        What it takes.
    body
        What it does.
    block
        Threads of a block.
    grid
        What the number of the thread is called in each dimension, for languages that ask for all of them first.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    arguments: tuple[Argument, ...]
    body: list[Statement]
    block: tuple[int, ...]
    grid: dict[str, str] = field(default_factory=dict)


class Buffer(Struct, frozen=True):
    """An array that the host makes.

    Parameters
    ----------
    name, type, reading
        Its elements.
    length
        How many there are.
    start
        What they are first; None if a kernel writes them before anything reads them.
    """

    name: str
    type: Type
    reading: str
    length: Node
    start: Node | None = None


class Result(Struct, frozen=True):
    """A number that the host returns: the first element of a buffer.

    Parameters
    ----------
    name
        What the program calls it.
    buffer
        Where it is.
    nothing
        The number that stands for none, as searches that find nothing have it.
    is_truth
        Whether it is a truth value.
    """

    name: str
    buffer: str
    nothing: Node | None = None
    is_truth: bool = False


class Plan(Struct, frozen=True):
    """What is written for a loop.

    Parameters
    ----------
    name
        What the function for the host is called.
    line
        The line of the loop.
    kernels
        The kernels, in the order of their launches.
    arguments
        What the host is given.
    told
        Sentences on what arguments are.
    sections
        What to copy.
    buffers, steps
        What the host makes, and what it does.
    results
        What it returns.
    """

    name: str
    line: int
    kernels: tuple[KernelPlan, ...]
    arguments: tuple[Argument, ...]
    told: tuple[str, ...]
    sections: tuple[Section, ...]
    buffers: tuple[Buffer, ...]
    steps: list[Statement]
    results: tuple[Result, ...] = ()
