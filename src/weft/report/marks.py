"""What the gutter shows beside each line of the source."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape
from weft.ir import BasicBlock, Instruction
from weft.ir.types import VOID
from weft.report.facts import ACCESSES, access_form, has_choice, loops_of, shape_class
from weft.report.model import AccessForm, Excerpt, LineReport
from weft.report.source_map import Place, SourceMap

_RANK = {"uniform": 0, "strided": 1, "affine": 2, "varying": 3}
_DEAREST_FIRST = (
    AccessForm.GATHER,
    AccessForm.SCATTER,
    AccessForm.STRIDED,
    AccessForm.PRIVATE,
    AccessForm.CONTIGUOUS,
    AccessForm.UNIFORM,
)
_CONTROL = ("", "uniform", "diverges", "loop diverges")


@dataclass(slots=True)
class _Line:
    """What stands on a line."""

    named: list[Shape] = field(default_factory=list)
    stored: list[Shape] = field(default_factory=list)
    computed: list[Shape] = field(default_factory=list)
    control: int = 0
    memory: dict[str, AccessForm] = field(default_factory=dict)

    def shape(self) -> Shape | None:
        """The shape to show: of what is assigned, else of what is stored, else of all that is computed.

        Of several the one with the least known of it, the last of these in program order.
        """
        shapes = self.named or self.stored or self.computed
        return max(reversed(shapes), key=lambda shape: _RANK[shape_class(shape)]) if shapes else None


def excerpts(divergence: Divergence, source: SourceMap) -> tuple[Excerpt, ...]:
    """The source of the function, and of those inlined into it, with its marks."""
    lines = _collect(divergence, source)
    found: list[Excerpt] = []
    for part in source.ranges(divergence.function):
        rows: list[LineReport] = []
        for number in range(part.first, part.last + 1):
            place = Place(part.file, number)
            rows.append(_row(number, source.text(place), lines.get(place)))
        found.append(Excerpt(part.title, part.file, tuple(rows)))
    return tuple(found)


def _row(number: int, text: str, line: _Line | None) -> LineReport:
    if line is None:
        return LineReport(number, text)
    shape = line.shape()
    memory = sorted(line.memory, key=lambda form: _DEAREST_FIRST.index(line.memory[form]))
    return LineReport(
        number,
        text,
        "" if shape is None else str(shape),
        "" if shape is None else shape_class(shape),
        _CONTROL[line.control],
        tuple(memory),
    )


def _collect(divergence: Divergence, source: SourceMap) -> dict[Place, _Line]:
    lines: dict[Place, _Line] = defaultdict(_Line)
    named = {item.value for item in source.named_values(divergence.function)}
    for block in divergence.function.blocks:
        for instruction in block.instructions:
            place = source.place(instruction)
            if place is None:
                continue
            line = lines[place]
            _note_shape(divergence, line, instruction, instruction in named)
            if instruction.op in ACCESSES:
                form, stride = access_form(divergence, instruction)
                line.memory[_form_text(form, stride)] = form
        place = source.place(block.terminator) if has_choice(block) else None
        if place is not None:
            line = lines[place]
            line.control = max(line.control, _control(divergence, block))
    return lines


def _note_shape(divergence: Divergence, line: _Line, instruction: Instruction, is_named: bool) -> None:
    if instruction.op == "store":
        line.stored.append(divergence.engine.shape(instruction.stored_value, instruction))
    elif is_named and instruction.op != "alloca":
        line.named.append(divergence.shape(instruction))
    elif instruction.type is not VOID and not instruction.type.is_pointer and not instruction.is_phi:
        line.computed.append(divergence.shape(instruction))


def _form_text(form: AccessForm, stride: int | None) -> str:
    if form is AccessForm.STRIDED:
        return f"strided {'?' if stride is None else stride}"
    return form.value


def _control(divergence: Divergence, block: BasicBlock) -> int:
    blocks = divergence.function.blocks
    number = divergence.engine.blocks[block]
    for loop in loops_of(divergence):
        if number in loop.exiting and any(
            source is block for source, _ in divergence.divergent_exits(blocks[loop.header])
        ):
            return _CONTROL.index("loop diverges")
    return _CONTROL.index("diverges" if divergence.is_divergent_branch(block) else "uniform")
