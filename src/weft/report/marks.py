"""What the gutter shows beside each line of the source."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape
from weft.ir import BasicBlock, Instruction
from weft.ir.types import VOID
from weft.report.compiled import CompiledCode, spot_of
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
_CONTROL = ("", "uniform", "select", "bound", "diverges", "loop diverges")
_FORMS = {
    "gather": AccessForm.GATHER,
    "scatter": AccessForm.SCATTER,
    "lane by lane": AccessForm.GATHER,
    "contiguous": AccessForm.CONTIGUOUS,
    "uniform": AccessForm.UNIFORM,
}
"""Where what code does with memory stands among the forms; all other ways are those of a known distance."""


class _Line(Struct):
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


def excerpts(
    divergence: Divergence, source: SourceMap, code: CompiledCode | None = None
) -> tuple[Excerpt, ...]:
    """The source of the function, and of those inlined into it, with its marks."""
    lines = _collect(divergence, source, code)
    costs = code.by_line() if code is not None else None
    total = max(code.total, 1.0) if code is not None else 1.0
    found: list[Excerpt] = []
    for part in source.ranges(divergence.function):
        rows: list[LineReport] = []
        for number in range(part.first, part.last + 1):
            place = Place(part.file, number)
            row = _row(number, source.text(place), lines.get(place))
            if costs is not None:
                cycles = costs.get((place.file, number), 0.0)
                row = replace(row, cycles=cycles, share=cycles / total)
            rows.append(row)
        found.append(Excerpt(part.title, part.file, tuple(rows)))
    return tuple(found)


def _row(number: int, text: str, line: _Line | None) -> LineReport:
    if line is None:
        return LineReport(number, text)
    shape = line.shape()
    memory = sorted(line.memory, key=lambda form: (_DEAREST_FIRST.index(line.memory[form]), form))
    return LineReport(
        number,
        text,
        "" if shape is None else str(shape),
        "" if shape is None else shape_class(shape),
        _CONTROL[line.control],
        tuple(memory),
    )


def _collect(divergence: Divergence, source: SourceMap, code: CompiledCode | None) -> dict[Place, _Line]:
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
                line.memory |= _forms(divergence, instruction, code)
        place = source.place(block.terminator) if has_choice(block) else None
        if place is not None:
            line = lines[place]
            line.control = max(line.control, _control(divergence, block, code))
    return lines


def _note_shape(divergence: Divergence, line: _Line, instruction: Instruction, is_named: bool) -> None:
    if instruction.op == "store":
        line.stored.append(divergence.engine.shape(instruction.stored_value, instruction))
    elif is_named and instruction.op != "alloca":
        line.named.append(divergence.shape(instruction))
    elif instruction.type is not VOID and not instruction.type.is_pointer and not instruction.is_phi:
        line.computed.append(divergence.shape(instruction))


def _forms(divergence: Divergence, access: Instruction, code: CompiledCode | None) -> dict[str, AccessForm]:
    """How an access is made, in words; nothing where the code has no such access."""
    form, stride = access_form(divergence, access)
    if code is None or form is AccessForm.PRIVATE:
        return {_form_text(form, stride): form}
    made = code.access(access, ACCESSES[access.op])
    if made is None:
        return {}
    if access.op in ("atomicrmw", "cmpxchg"):
        return {"update of a copy" if made.form == "copy" else "atomic": AccessForm.SCATTER}
    text = made.words()
    if form is AccessForm.STRIDED and made.form in ("gather", "scatter"):
        text = text.replace(made.form, _form_text(form, stride), 1)
    elif made.form == "interleaved" and stride is not None:
        text += f" {stride}"
    return {text: _FORMS.get(made.form, AccessForm.STRIDED)}


def _form_text(form: AccessForm, stride: int | None) -> str:
    if form is AccessForm.STRIDED:
        return f"strided {'?' if stride is None else stride}"
    return form.value


def _control(divergence: Divergence, block: BasicBlock, code: CompiledCode | None) -> int:
    blocks = divergence.function.blocks
    number = divergence.engine.blocks[block]
    place = spot_of(block.terminator)
    for loop in loops_of(divergence):
        if number in loop.exiting and any(
            source is block for source, _ in divergence.divergent_exits(blocks[loop.header])
        ):
            is_walk = code is not None and place is not None and place[:2] in code.walks
            return _CONTROL.index("bound" if is_walk else "loop diverges")
    if not divergence.is_divergent_branch(block):
        return _CONTROL.index("uniform")
    if code is None or place is None or place[:2] in code.branches:
        return _CONTROL.index("diverges")
    return _CONTROL.index("bound" if place[:2] in code.bounds else "select")
