"""What has become of a program: costs, memory forms and divergent branches of the SIMD code, by places of the source.

Reports look at the program that people wrote. What it costs is read off the code that the vectorizer has made of it,
found again by the places of its instructions: a guard that became the bound of a row is no branch there, a load whose
value was known no access, and an access that an aligned version makes contiguous is so for most lane groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct, field

from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.costs.emitted import access_of, block_weights, contiguous_cycles, emitted_cycles, is_masked
from weft.diag.remarks import Remark, RemarkKind
from weft.diag.source import SourceSpan
from weft.ir import Function, Instruction
from weft.ir.locations import span_of_block
from weft.ir.types import F32, F64, VectorType
from weft.machine.targets import Isa
from weft.report.machine_code import MakeLines

DIVISIONS = ("udiv", "sdiv", "urem", "srem", "frem")
_OWN_FORMS = {
    "interleaved": "interleaved",
    "runs": "rows",
    "chunks": "pieces",
    "structures": "pieces",
    "own rows": "pieces",
    "neighbours": "neighbours",
    "table": "table",
    "lane by lane": "lane by lane",
}
"""Forms that no single instruction shows, by what widening notes."""
_RANK = (
    "lane by lane",
    "scatter",
    "gather",
    "table",
    "neighbours",
    "pieces",
    "rows",
    "interleaved",
    "contiguous",
    "uniform",
    "copy",
)


class Spot(NamedTuple):
    """A place in the source."""

    file: str
    line: int
    column: int


class AccessCode(Struct):
    """What the loads, the stores or the atomics of one place have become.

    Parameters
    ----------
    forms
        How they are made, and how often so.
    masked
        Whether some are made for a part of the lanes.
    cycles, contiguous
        What they cost a lane group, and would cost if lanes were neighbours.
    """

    forms: dict[str, float] = field(default_factory=dict)
    masked: bool = False
    cycles: float = 0.0
    contiguous: float = 0.0

    @property
    def form(self) -> str:
        """How they are made most often, the dearer one first."""
        return max(self.forms, key=lambda form: (self.forms[form], -_RANK.index(form)))

    @property
    def others(self) -> tuple[str, ...]:
        """How they are made otherwise."""
        return tuple(sorted((f for f in self.forms if f != self.form), key=_RANK.index))

    def words(self) -> str:
        """The form for people: ``masked gather``, ``contiguous or gather``."""
        masked = self.masked and self.form not in _OWN_FORMS.values()
        return ("masked " if masked else "") + " or ".join((self.form, *self.others))


class CompiledCode(Struct):
    """The SIMD code of a program by places.

    Parameters
    ----------
    width
        Lanes; 1 where threads run one after the other.
    dimension
        The dimension that lanes run along; None for consecutive numbers in the work-group.
    how
        How it is compiled, in a sentence.
    cycles
        Cycles by place, each loop around counted ten times.
    elsewhere
        Cycles of instructions that stand nowhere in the source.
    accesses
        By place and ``load``, ``store`` or ``atomic``.
    divisions, conversions
        Cycles of divisions, and of conversions from 32-bit floats to 64-bit ones.
    branches, loops, bounds
        Lines of divergent branches, of divergent loops, and of guards that are bounds of loops over threads.
    walks
        Lines of loops whose iterations are threads.
    skipped
        Lines of divergent branches that lane groups jump over together where none of their lanes goes there.
    lane_by_lane
        Names of what runs once for each active lane, by place.
    looped
        Places in loops.
    lines
        Makes the machine code, by lines of the source; None where none is made.
    """

    width: int
    dimension: int | None = 0
    how: str = ""
    cycles: dict[Spot, float] = field(default_factory=dict)
    elsewhere: float = 0.0
    accesses: dict[tuple[Spot, str], AccessCode] = field(default_factory=dict)
    divisions: dict[Spot, float] = field(default_factory=dict)
    conversions: dict[Spot, float] = field(default_factory=dict)
    branches: set[tuple[str, int]] = field(default_factory=set)
    loops: set[tuple[str, int]] = field(default_factory=set)
    bounds: set[tuple[str, int]] = field(default_factory=set)
    walks: set[tuple[str, int]] = field(default_factory=set)
    skipped: set[tuple[str, int]] = field(default_factory=set)
    lane_by_lane: dict[Spot, str] = field(default_factory=dict)
    looped: set[Spot] = field(default_factory=set)
    lines: MakeLines | None = None

    @classmethod
    def of(
        cls,
        summaries: Iterable[VectorizationSummary],
        scalar: Iterable[Function],
        remarks: Iterable[Remark],
        isa: Isa,
        dimension: int | None = 0,
        lines: MakeLines | None = None,
    ) -> CompiledCode:
        """Read it off what vectorization has made.

        Parameters
        ----------
        summaries
            Of the SIMD functions.
        scalar
            Functions that run for one thread or lane group after the other and are not vectorized.
        remarks
            What was decided.
        isa
            Whose costs count.
        dimension
            The dimension that lanes run along.
        lines
            Makes the machine code.
        """
        summaries = tuple(summaries)
        code = cls(max((s.width for s in summaries), default=1), dimension, lines=lines)
        for summary in summaries:
            for function in summary.functions:
                code._add_function(function, isa)
            code._add_summary(summary)
        for function in scalar:
            code._add_function(function, isa)
        for remark in remarks:
            code._add_remark(remark)
        return code

    @property
    def total(self) -> float:
        """Cycles of all of it."""
        return sum(self.cycles.values()) + self.elsewhere

    def at(self, instructions: Iterable[Instruction]) -> float:
        """Cycles of what the instructions have become, each place once."""
        return sum(self.cycles.get(spot, 0.0) for spot in {spot_of(i) for i in instructions} if spot)

    def access(self, instruction: Instruction, op: str) -> AccessCode | None:
        """What an access has become; None where there is no such access any more."""
        spot = spot_of(instruction)
        return None if spot is None else self.accesses.get((spot, op))

    def by_line(self) -> dict[tuple[str, int], float]:
        """Cycles by file and line."""
        lines: dict[tuple[str, int], float] = {}
        for spot, cycles in self.cycles.items():
            lines[spot.file, spot.line] = lines.get((spot.file, spot.line), 0.0) + cycles
        return lines

    def _add_function(self, function: Function, isa: Isa) -> None:
        layout, weights = function.layout, block_weights(function, isa)
        for block in weights:
            for instruction in block.instructions:
                cycles = weights[block] * emitted_cycles(instruction, layout, isa)
                spot = spot_of(instruction)
                if spot is None:
                    self.elsewhere += cycles
                    continue
                self.cycles[spot] = self.cycles.get(spot, 0.0) + cycles
                if weights[block] > 1:
                    self.looped.add(spot)
                self._note_kind(instruction, spot, cycles)
                access = access_of(instruction)
                if access is not None:
                    op, form = access
                    found = self.accesses.setdefault((spot, op), AccessCode())
                    found.forms[form] = found.forms.get(form, 0.0) + weights[block]
                    found.masked |= is_masked(instruction)
                    found.cycles += cycles
                    found.contiguous += weights[block] * contiguous_cycles(instruction, layout, isa)

    def _note_kind(self, instruction: Instruction, spot: Spot, cycles: float) -> None:
        if not isinstance(instruction.type, VectorType):
            return
        if instruction.op in (*DIVISIONS, "fdiv"):
            # Whole numbers may be divided as floats.
            self.divisions[spot] = self.divisions.get(spot, 0.0) + cycles
        elif instruction.op == "fpext":
            source = instruction.operands[0].type
            if isinstance(source, VectorType) and source.element is F32 and instruction.type.element is F64:
                self.conversions[spot] = self.conversions.get(spot, 0.0) + cycles

    def _add_summary(self, summary: VectorizationSummary) -> None:
        self.branches |= _lines(summary.branches.places)
        self.loops |= _lines(span_of_block(loop.header) for loop in summary.loops if loop.divergent)
        self.skipped |= _lines(g.span for g in summary.gadgets if not g.twin)
        for instruction, what in summary.notes.notes:
            spot = spot_of(instruction)
            if spot is None:
                continue
            form = _OWN_FORMS.get(what)
            access = access_of(instruction)
            if access is not None and form is not None:
                found = self.accesses.setdefault((spot, access[0]), AccessCode())
                found.forms = {form: 1.0}
                found.cycles = max(found.cycles, self.cycles.get(spot, 0.0))
            elif what == "lane by lane" and instruction.op == "call":
                self.lane_by_lane[spot] = instruction.callee_name or "a function pointer"

    def _add_remark(self, remark: Remark) -> None:
        span = remark.span
        if remark.pass_name == "guard splitting" and span is not None:
            self.bounds.add((span.file, span.line))
        elif remark.pass_name == "shared loads" and span is not None:
            # They stand before the loop over lane groups, in none of the SIMD functions.
            spot = Spot(span.file, span.line, span.column)
            self.accesses.setdefault((spot, "load"), AccessCode()).forms.setdefault("uniform", 1.0)
        elif remark.pass_name == "grid walks" and span is not None:
            self.walks.add((span.file, span.line))
        elif not self.how and remark.kind in (RemarkKind.VECTORIZED, RemarkKind.LANE_BY_LANE):
            self.how = remark.message.split(";")[0]


def spot_of(instruction: Instruction) -> Spot | None:
    """Where an instruction stands in the source."""
    loc = instruction.loc
    return None if loc is None or not loc.line else Spot(loc.filename or "", loc.line, loc.column)


def _lines(spans: Iterable[SourceSpan | None]) -> set[tuple[str, int]]:
    return {(span.file, span.line) for span in spans if span is not None}
