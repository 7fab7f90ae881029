"""What a report says, as data: the text, HTML and JSON of a report are made from these classes alone.

A line is None where an instruction has no place in the source (a compiler may have made it). Positions are lines
of the user's source for programs from source code, and lines of the LLVM text for ``.ll`` and ``.bc`` input.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class AccessForm(StrEnum):
    """How the addresses of the lanes at a memory access are related."""

    UNIFORM = "uniform"
    """One address for all lanes."""
    CONTIGUOUS = "contiguous"
    """Neighbouring lanes access neighbouring elements: one vector load or store."""
    STRIDED = "strided"
    """Neighbouring lanes are a fixed distance apart."""
    GATHER = "gather"
    """A load from addresses that nothing relates."""
    SCATTER = "scatter"
    """A store (or atomic) to addresses that nothing relates."""

    PRIVATE = "private"
    """Each lane has its own stack object, and all access the same place in theirs."""


class ValueReport(Struct, frozen=True):
    """A variable of the user's, or a value of LLVM's, with its shape.

    Parameters
    ----------
    name, line
        Its name and where it is computed.
    shape
        In the notation of ``--args``, extended (`Shape.__str__`).
    shape_class
        ``uniform``, ``strided``, ``affine`` or ``varying``.
    """

    name: str
    line: int | None
    shape: str
    shape_class: str


class BranchReport(Struct, frozen=True):
    """A conditional branch or switch; `block` ends with it."""

    block: str
    line: int | None
    divergent: bool


class ExitReport(Struct, frozen=True):
    """A block from which a loop can be left; divergent if lanes leave there in different iterations."""

    block: str
    divergent: bool


class LoopReport(Struct, frozen=True):
    """A loop; divergent if lanes leave it in different iterations."""

    header: str
    line: int | None
    divergent: bool
    exits: tuple[ExitReport, ...]


class BlockReport(Struct, frozen=True):
    """A block of the control flow.

    Parameters
    ----------
    name, line
        What it is called, and where it is.
    successors
        Positions of the blocks that it leads to.
    divergent
        Whether lanes leave it different ways.
    partly
        Whether it runs for some lanes only.
    """

    name: str
    line: int | None
    successors: tuple[int, ...]
    divergent: bool
    partly: bool


class AllocaReport(Struct, frozen=True):
    """A stack object; uniform if one copy would do for all lanes."""

    name: str
    line: int | None
    uniform: bool


class AccessReport(Struct, frozen=True):
    """A load, store or atomic.

    Parameters
    ----------
    line
        Where it stands.
    kind
        ``load``, ``store`` or ``atomic``.
    form
        How the lanes' addresses are related.
    stride
        Bytes between neighbouring lanes where that is one known number: 0 for uniform, the element's size for
        contiguous accesses.
    """

    line: int | None
    kind: str
    form: AccessForm
    stride: int | None


class LineReport(Struct, frozen=True):
    """A line of source with what the gutter shows beside it.

    Parameters
    ----------
    number, text
        The line.
    shape, shape_class
        What the line computes; empty when it computes nothing.
    control
        ``diverges``, ``loop diverges``, ``uniform``, ``bound``, ``select`` or nothing, for lines with a branch.
    memory
        Forms of the accesses on the line, the dearest first.
    cycles, share
        What the code that is compiled of the line costs a lane group, and the part of it in all; None where there is
        no code to look at.
    """

    number: int
    text: str
    shape: str = ""
    shape_class: str = ""
    control: str = ""
    memory: tuple[str, ...] = ()
    cycles: float | None = None
    share: float = 0.0


class Excerpt(Struct, frozen=True):
    """Consecutive lines of one function of the source."""

    title: str
    file: str
    lines: tuple[LineReport, ...]


class FindingKind(StrEnum):
    """What costs."""

    DIVERGENT_BRANCH = "divergent branch"
    DIVERGENT_LOOP = "divergent loop"
    GATHER = "gather"
    SCATTER = "scatter"
    STRIDED = "strided access"
    ATOMIC = "atomic"
    CALL = "call under a mask"
    LANE_BY_LANE = "lane by lane"
    DIVISION = "division"
    WIDE = "64-bit floats"
    UNCOALESCED = "uncoalesced access"
    BANK_CONFLICT = "bank conflict"


class Finding(Struct, frozen=True):
    """Something that costs cycles because lanes differ.

    Parameters
    ----------
    kind
        What it is.
    line
        Where.
    cycles
        Estimated cycles a lane group more than if the lanes agreed, each loop around it counted ten times.
    message
        What happens there.
    because
        The chain of causes, from here to a source of divergence.
    hint
        What to change, in the user's terms; empty where nothing is known to help.
    file, column
        Where, more closely; empty and 0 where that is not known.
    in_loop
        Whether it is in a loop.
    """

    kind: FindingKind
    line: int | None
    cycles: float
    message: str
    because: tuple[str, ...] = ()
    hint: str = ""
    file: str = ""
    column: int = 0
    in_loop: bool = False


class BarrierReport(Struct, frozen=True):
    """A barrier that not all threads of a work-group may reach.

    Parameters
    ----------
    line, file
        Where it stands.
    certain
        Whether surely not all do.
    message, because
        What happens, and the chain of causes.
    in_loop
        Whether threads part because they leave a loop around the barrier at different times.
    """

    line: int | None
    certain: bool
    message: str
    because: tuple[str, ...] = ()
    file: str = ""
    in_loop: bool = False


class FunctionReport(Struct, frozen=True):
    """One function.

    Parameters
    ----------
    name
        The function's name.
    signature
        Types of its parameters for people.
    excerpts
        Its source, and that of the functions inlined into it.
    values, branches, loops, allocas, accesses
        The facts.
    findings
        What costs most, the dearest first.
    barriers
        Barriers under divergent control.
    is_kernel
        Whether the host calls it, so that its arguments are uniform unless shapes are given.
    result
        The shape of what it returns; empty when that is nothing.
    compiled
        How it is compiled, in a sentence; where costs are not those of compiled code, why.
    cycles
        What the compiled code costs a lane group; None where there is none.
    on_gpus
        What costs on GPUs, where that is asked.
    blocks
        Its control flow, as it was written.
    lanes
        Lanes of a lane group, where these are not those of the report's settings.
    """

    name: str
    signature: str
    excerpts: tuple[Excerpt, ...]
    values: tuple[ValueReport, ...]
    branches: tuple[BranchReport, ...]
    loops: tuple[LoopReport, ...]
    allocas: tuple[AllocaReport, ...]
    accesses: tuple[AccessReport, ...]
    findings: tuple[Finding, ...]
    barriers: tuple[BarrierReport, ...]
    is_kernel: bool = True
    result: str = ""
    compiled: str = ""
    cycles: float | None = None
    on_gpus: tuple[Finding, ...] = ()
    blocks: tuple[BlockReport, ...] = ()
    lanes: int | None = None


class ReportSettings(Struct, frozen=True):
    """Under which assumptions a report was made: the thread set, lanes, and shapes of arguments."""

    scope: str
    width: int | None
    arguments: str
