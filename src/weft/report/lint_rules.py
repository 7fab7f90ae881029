"""What ``weft lint`` tells, as data: its rules, and what of a report is a violation of which."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from weft.report.model import FindingKind, FunctionReport


class Level(StrEnum):
    """How bad a violation is, as SARIF calls it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(Struct, frozen=True):
    """A rule.

    Parameters
    ----------
    name
        How commands, comments and files call it.
    level
        How bad it is.
    summary
        What violates it, in a sentence.
    """

    name: str
    level: Level
    summary: str

    @property
    def page(self) -> str:
        """Where the documentation has it."""
        return f"docs/lint.md#{self.name}"


class Violation(Struct, frozen=True):
    """Something that a rule is violated by.

    Parameters
    ----------
    rule, level
        Which, and how bad that is here.
    function
        The function it is in; empty for a file.
    file, line, column
        Where; line and column are 0 where they are not known.
    message, hint, because
        What happens, what helps, and the chain of causes.
    cycles
        What it costs a lane group, or for rules of GPUs how many requests or turns of a warp; 0 for what is no cost.
    """

    rule: Rule
    level: Level
    function: str
    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    because: tuple[str, ...] = ()
    cycles: float = 0.0


DIVERGENT_BARRIER = Rule(
    "divergent-barrier",
    Level.ERROR,
    "Threads of a work-group may wait at different barriers, or not all arrive.",
)
BARRIER_IN_DIVERGENT_LOOP = Rule(
    "barrier-in-divergent-loop",
    Level.ERROR,
    "Threads leave the loop around a barrier in different iterations.",
)
NOT_COMPILED = Rule("not-compiled", Level.ERROR, "The file, or a kernel in it, is refused by the compiler.")
GATHER_IN_LOOP = Rule(
    "gather-in-loop", Level.WARNING, "A load or store in a loop goes to an address of its own for each lane."
)
GATHER = Rule("gather", Level.NOTE, "A load or store goes to an address of its own for each lane.")
STRIDED_IN_LOOP = Rule(
    "strided-in-loop", Level.WARNING, "Neighbouring lanes access elements in a loop that are no neighbours."
)
STRIDED = Rule("strided", Level.NOTE, "Neighbouring lanes access elements that are no neighbours.")
LANE_BY_LANE = Rule("scalarized", Level.WARNING, "A call or an access runs once for each lane.")
DIVERGENT_LOOP = Rule("divergent-loop", Level.NOTE, "Lanes leave a loop in different iterations.")
DIVERGENT_BRANCH = Rule(
    "divergent-branch", Level.NOTE, "Both ways of a branch run, each for some of the lanes."
)
ATOMIC_IN_LOOP = Rule(
    "atomic-in-loop", Level.WARNING, "Lanes do atomic operations in a loop, one after the other."
)
ATOMIC = Rule("atomic", Level.NOTE, "Lanes do atomic operations one after the other.")
DIVISION = Rule(
    "division", Level.NOTE, "Each lane divides whole numbers, for which there are no vector instructions."
)
WIDE_FLOATS = Rule("wide-floats", Level.WARNING, "32-bit floats are computed with in 64 bits.")
UNCOALESCED = Rule(
    "uncoalesced", Level.WARNING, "A warp asks for more of global memory than it uses (--gpu)."
)
BANK_CONFLICT = Rule(
    "bank-conflict", Level.WARNING, "Threads of a warp want one bank of shared memory (--gpu)."
)

RULES = (
    DIVERGENT_BARRIER, BARRIER_IN_DIVERGENT_LOOP, NOT_COMPILED, GATHER_IN_LOOP, GATHER, STRIDED_IN_LOOP, STRIDED,
    LANE_BY_LANE, DIVERGENT_LOOP, DIVERGENT_BRANCH, ATOMIC_IN_LOOP, ATOMIC, DIVISION, WIDE_FLOATS, UNCOALESCED,
    BANK_CONFLICT,
)  # fmt: skip

_OF_KIND: dict[FindingKind, tuple[Rule, Rule]] = {
    FindingKind.GATHER: (GATHER, GATHER_IN_LOOP),
    FindingKind.SCATTER: (GATHER, GATHER_IN_LOOP),
    FindingKind.STRIDED: (STRIDED, STRIDED_IN_LOOP),
    FindingKind.LANE_BY_LANE: (LANE_BY_LANE, LANE_BY_LANE),
    FindingKind.CALL: (LANE_BY_LANE, LANE_BY_LANE),
    FindingKind.DIVERGENT_LOOP: (DIVERGENT_LOOP, DIVERGENT_LOOP),
    FindingKind.DIVERGENT_BRANCH: (DIVERGENT_BRANCH, DIVERGENT_BRANCH),
    FindingKind.ATOMIC: (ATOMIC, ATOMIC_IN_LOOP),
    FindingKind.DIVISION: (DIVISION, DIVISION),
    FindingKind.WIDE: (WIDE_FLOATS, WIDE_FLOATS),
    FindingKind.UNCOALESCED: (UNCOALESCED, UNCOALESCED),
    FindingKind.BANK_CONFLICT: (BANK_CONFLICT, BANK_CONFLICT),
}
"""The rules of a finding, outside of loops and in them."""


def violations(function: FunctionReport, file: str) -> Iterator[Violation]:
    """The violations of a function in a file, barriers first, then what costs most."""
    for barrier in function.barriers:
        rule = BARRIER_IN_DIVERGENT_LOOP if barrier.in_loop else DIVERGENT_BARRIER
        yield Violation(
            rule, Level.ERROR if barrier.certain else Level.WARNING, function.name, barrier.file or file,
            barrier.line or 0, 0, barrier.message, because=barrier.because,
        )  # fmt: skip
    for found in (*function.findings, *function.on_gpus):
        rule = _OF_KIND[found.kind][found.in_loop]
        yield Violation(
            rule, rule.level, function.name, found.file or file, found.line or 0, found.column, found.message,
            found.hint, found.because, found.cycles,
        )  # fmt: skip
