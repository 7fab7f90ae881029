"""What is written for a loop, in no language yet: kernels, and what the host does with them.

Statements of the host are those of kernels, and launches. What the host calls `blocks` is the number of blocks of the
launch before; arrays that only kernels hand to each other are *buffers*.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.ir import Instruction
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.sections import Section
from weft.loops.emission.tree import Argument, Buffer, Node, Statement


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
    phi
        What it is in the program; None of what is left early.
    """

    name: str
    buffer: str
    nothing: Node | None = None
    is_truth: bool = False
    phi: Instruction | None = None


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
    parts
        What its kernels, or the host's part, is made of.
    is_whole
        Whether it is a function as a whole: buffers are made by the steps.
    returned
        What this returns.
    """

    name: str
    line: int
    kernels: tuple[KernelPlan, ...]
    arguments: tuple[Argument, ...]
    told: tuple[str, ...]
    sections: tuple[Section, ...]
    buffers: tuple[Buffer, ...]
    steps: list[Statement]
    results: tuple[Result, ...]
    parts: KernelParts
    is_whole: bool = False
    returned: Node | None = None
