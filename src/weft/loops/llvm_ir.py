"""SIMD code from LLVM IR or C: ``weft.vectorize_ir`` and the command ``weft vectorize``.

*Whole-function mode* adds a function for W lanes beside one for one lane; *loop mode* turns parallel loops of a
function into SIMD code in place (Moll, §3.1 and 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.shapes import parse_args
from weft.brush import AUTO, brush_of
from weft.codegen.order.width import MAX_WIDTH, one_register
from weft.diag.errors import ArgumentError, CompileError
from weft.diag.remarks import RemarkLog
from weft.frontend.clang import SUFFIXES, compile_c
from weft.ir.verifier import verify
from weft.loops.c_header import c_declaration
from weft.loops.declared_variants import add_declared_variants
from weft.machine.host import chosen
from weft.machine.targets import ISAS, Isa
from weft.options import checking
from weft.passes.adopt import adopt, chosen_function
from weft.passes.declared import PassList
from weft.passes.foreign import FOREIGN_FUNCTIONS, FOREIGN_LOOPS, FORM
from weft.passes.foreign_unit import ForeignFunctionUnit, ForeignLoopUnit, ForeignUnit
from weft.passes.machine_text import machine_text
from weft.passes.runner import Runner
from weft.passes.stages import StageLog, log_of
from weft.switches import ALL_ON, Switches
from weft.target.llvm import disassemble
from weft.target.machine import TargetSpec, emit_assembly, emit_bitcode, emit_object, optimized
from weft.target.offered_math import offer_vector_math
from weft.target.passes import WHOLE, Pipeline
from weft.target.reading import decode_text
from weft.target.vector_math import math_finder, of_libraries
from weft.transform.boscc.insertion import Boscc, BosccMode

MASKS = ("none", "last")


class VectorizedIR(Struct, frozen=True):
    """LLVM IR with SIMD code in it.

    Parameters
    ----------
    name
        The SIMD function, or the function whose loops became SIMD code.
    loops
        How many did.
    remarks
        What was decided, and why.
    libraries
        Symbols of vector math functions that the code calls, to be linked with.
    """

    name: str
    loops: int
    remarks: RemarkLog
    libraries: tuple[str, ...]
    _text: str
    _spec: TargetSpec
    _declaration: str | None
    _pipeline: Pipeline = WHOLE

    @property
    def text(self) -> str:
        """The module as LLVM IR before LLVM's own pipeline."""
        return self._text

    @property
    def llvm(self) -> str:
        """The module as optimized LLVM IR."""
        return optimized(self._text, self._spec, self._pipeline)

    @property
    def bitcode(self) -> bytes:
        return emit_bitcode(self._text, self._spec, self._pipeline)

    @property
    def assembly(self) -> str:
        return emit_assembly(self._text, self._spec, self._pipeline)

    @property
    def object_code(self) -> bytes:
        """The module as an object file."""
        return emit_object(self._text, self._spec, self._pipeline)

    @property
    def header(self) -> str:
        """The SIMD function's declaration in C, with vector types as GCC and clang write them.

        Raises
        ------
        ArgumentError
            C has no such declaration.
        """
        if self._declaration is None:
            raise ArgumentError(
                f"C has no type for a parameter or the result of {self.name}",
                hint="masks are vectors of i1, which only LLVM IR has",
            )
        if not self._declaration:
            raise ArgumentError("there is no declaration of a loop: its function is declared where it was")
        return self._declaration


def vectorize_ir(
    source: str | bytes | Path,
    function: str | None = None,
    *,
    width: int | None = None,
    brush: Sequence[int] | str | None = None,
    projection: Sequence[int] | str | None = None,
    args: str = "",
    mask: str = "none",
    loop: str | None = None,
    name: str | None = None,
    target: str = "host",
    fastmath: bool = False,
    clang_options: Sequence[str] = (),
    shapes: Mapping[str, str] | None = None,
    uniform: Sequence[str] = (),
    boscc: str = "auto",
    switches: Switches = ALL_ON,
    without: Sequence[str] = (),
    check_with: Sequence[Any] | None = None,
) -> VectorizedIR:
    """Make SIMD code of a function, or of the parallel loops in it.

    Parameters
    ----------
    source
        A file (``.ll``, ``.bc``, C or C++), LLVM's text, or its bitcode.
    function
        The function. None for all functions of which ``#pragma omp declare simd`` asks for SIMD versions: these are
        made, by the names, shapes and masks of the vector function ABI.
    width
        Lanes; by default those of a vector register of 32-bit values for a function, and for a loop what the cost
        model chooses.
    brush, projection
        In loop mode: lanes along each loop of a nest, outermost first, as ``(4, 8)`` or ``"4x8"``; and in which order
        they are filled, ``(1, 0)`` with the inner loop fastest (docs/tensors.md).
    args
        Shapes of the parameters, as ``weft analyze --args`` takes them: ``"U_TrT"``. Missing ones are uniform.
    mask
        ``"last"``: the SIMD function takes a mask as last parameter, ``"none"``: it takes none.
    loop
        Loop mode: the name of a header, which promises that the loop's iterations are independent, and with a brush
        those of the loops in it, too; ``"nest"``: all outermost loops, with that promise, by a brush; ``"outermost"``,
        ``"annotated"`` or ``"auto"``. None for whole-function mode.
    name
        The SIMD function's name; by default by the vector function ABI.
    target
        ``"host"``: this machine, or the one that ``WEFT_CPU`` names; or the name of an instruction set (``weft info``
        lists them).
    fastmath
        Whether float sums may be formed in another order.
    clang_options
        For C: ``-DNAME``, ``-Ifolder``.
    shapes
        For a function: shapes of global variables by name. ``"U"``: all lanes share it, as they do without a shape;
        ``"C"``: each lane has its own, one behind the other; ``"S16"``: 16 bytes apart; each may have an alignment.
    uniform
        Functions without a body that give all lanes the same result for the same arguments.
    boscc
        Branches around code that no lane takes: ``"off"``, ``"auto"`` (where it is expected to pay) or ``"on"``.
    switches
        Parts of vectorization that are left out, to see what each is worth.
    without
        Optional passes to leave out, by name: ``("boscc", "narrowing")``. ``weft passes`` lists them.
    check_with
        Arguments to check the passes with, one for each parameter of the function as LLVM has it: an array for a
        pointer, a number for a number, or an array with one for each lane. The check also takes place under
        ``WEFT_CHECK=1``, with arguments that are made up if there are none.

    Returns
    -------
    VectorizedIR

    Raises
    ------
    ArgumentError
        There is no such function, loop or target, or shapes that do not fit.
    UnsupportedError
        The function cannot be vectorized.
    PassError
        There is no optional pass of a name in `without`.
    CompileError, IRSyntaxError
        LLVM or clang refuses the source.
    """
    spec, isa = target_named(target)
    text, file = read_source(source, spec, clang_options)
    gadgets = Boscc(BosccMode(boscc), isa)
    switches = replace(switches, without=(*switches.without, *without))
    runner = Runner(left_out=frozenset(switches.without), strict=checking())
    if function is None:
        if loop is not None or args or width is not None or name is not None or mask != "none" or shapes:
            raise ArgumentError("loops, shapes, widths, masks and names are those of one function: name it")
        module = adopt(text, file, uniform=uniform)
        return _declared(ForeignUnit(module, "", spec, isa, None, gadgets, runner, switches), file)
    if shapes and loop is not None:
        raise ArgumentError("shapes of global variables are for whole functions, not for loops")
    module = adopt(text, file, shapes or {}, uniform)
    chosen_function(module, function)
    if width is not None and (not 1 <= width <= MAX_WIDTH or width & (width - 1)):
        raise ArgumentError(f"{width} lanes: the number of lanes is a power of two, at most {MAX_WIDTH}")
    box = brush_of(brush, projection, width=width)
    if loop is None and box is not None:
        raise ArgumentError("brushes are for nests of loops", hint='name the loops: loop="nest"')
    if loop == "nest" and box is None:
        if width is not None:
            raise ArgumentError(
                "a nest with a width",
                hint='say how many lanes along each loop, as brush="4x8", or leave it to weft',
            )
        box = AUTO
    if loop is not None:
        unit = ForeignLoopUnit(
            module, function, spec, isa, width, gadgets, runner,
            switches=switches, which=loop, fastmath=fastmath, brush=box,
        )  # fmt: skip
        return _with_loops(unit, check_with)
    if mask not in MASKS:
        raise ArgumentError(f"mask={mask!r}: it is one of {', '.join(MASKS)}")
    lanes, reason = (
        (one_register(isa), "a register of 32-bit values") if width is None else (width, "as asked for")
    )
    signature = parse_args(args)
    wanted = signature.result.kind if signature.result is not None else None
    unit = ForeignFunctionUnit(
        module, function, spec, isa, lanes, gadgets, runner,
        switches=switches, wanted=function, signature=signature, simd_name=name or "", masked=mask == "last",
        scalar_result=wanted != "T", subject=function, reason=reason,
    )  # fmt: skip
    return _whole_function(unit, check_with)


def _declared(unit: ForeignUnit, file: str) -> VectorizedIR:
    """The versions that the program asks for."""
    unit.runner.run(FORM, unit)
    found = add_declared_variants(unit)
    if not found.made and not found.remarks:
        raise ArgumentError(
            f"no function of {file} is marked to be vectorized for {unit.isa.name}",
            hint="name one with --function, or put #pragma omp declare simd before it",
        )
    declarations = [c_declaration(function) for function in found.made]
    header = None if None in declarations else "\n".join(d for d in declarations if d is not None)
    names = ", ".join(function.name for function in found.made)
    libraries = tuple(of_libraries(found.math))
    return VectorizedIR(names, 0, found.remarks, libraries, found.text, unit.spec, header)


def _with_loops(unit: ForeignLoopUnit, check_with: Sequence[Any] | None) -> VectorizedIR:
    """The function, with its loops in lanes."""
    log = _run(FOREIGN_LOOPS, unit, check_with is not None)
    offers = (
        "" if unit.exact_math else offer_vector_math(unit.module, math_finder(unit.math, unit.spec), unit.isa)
    )
    made = VectorizedIR(
        unit.name, sum(found.mined.width > 1 for found in unit.loops), unit.remarks,
        tuple(of_libraries(unit.math)), machine_text(unit.module, unit.isa) + offers, unit.spec, "", unit.pipeline,
    )  # fmt: skip
    if log.stages:
        from weft.check.foreign import check_loops

        check_loops(unit, made._text, log.stages, check_with)
    return made


def _whole_function(unit: ForeignFunctionUnit, check_with: Sequence[Any] | None) -> VectorizedIR:
    """The function for W lanes, beside the one for one."""
    log = _run(FOREIGN_FUNCTIONS, unit, check_with is not None)
    scalar = unit.function
    result = unit.signature.result
    if result is not None and result.kind == "U" and unit.simd.fn_type.result.is_vector:
        raise ArgumentError(f"the result of {unit.subject} differs from lane to lane, and is not uniform")
    if unit.name != unit.wanted:
        scalar.linkage.linkage = "internal"
    made = VectorizedIR(
        unit.simd_name, 0, unit.remarks, tuple(of_libraries(unit.math)), machine_text(unit.module, unit.isa),
        unit.spec, c_declaration(unit.simd),
    )  # fmt: skip
    if log.stages:
        from weft.check.foreign import check_lanes

        check_lanes(unit, scalar, made._text, log.stages, check_with)
    return made


def _run(passes: PassList, unit: ForeignUnit, check: bool) -> StageLog:
    """Run a list of passes, and verify what it leaves; the programs between them, if they are to be checked."""
    check = check or checking()
    unit.runner.strict = check
    log = log_of(unit, unit.runner, check=check)
    unit.runner.run(passes, unit)
    verify(unit.module)
    return log


def target_named(name: str) -> tuple[TargetSpec, Isa]:
    """The target with the name, ``host`` or an instruction set.

    Raises
    ------
    ArgumentError
        There is none.
    """
    if name == "host":
        return TargetSpec.chosen(), chosen().isa
    for isa in ISAS:
        if name in (isa.name, isa.cpu):
            return TargetSpec.of_isa(isa), isa
    known = ", ".join(isa.name for isa in ISAS)
    raise ArgumentError(f"there is no target {name!r}", hint=f"it is host, or one of {known}")


def read_source(
    source: str | bytes | Path, spec: TargetSpec, clang_options: Sequence[str]
) -> tuple[str, str]:
    """LLVM's text of a file, of bitcode or as it is given, and what it is called."""
    if isinstance(source, bytes):
        return disassemble(source), "<bitcode>"
    if isinstance(source, str):
        return source, "<text>"
    if not source.is_file():
        raise ArgumentError(f"there is no file {source}")
    try:
        if source.suffix in SUFFIXES:
            return compile_c(source, spec.triple, clang_options), str(source)
        data = source.read_bytes()
    except OSError as error:
        raise ArgumentError(f"{source} cannot be read: {error.strerror}") from None
    if source.suffix == ".bc" or data.startswith(b"BC\xc0\xde"):
        return disassemble(data), str(source)
    if source.suffix != ".ll":
        raise CompileError(f"{source}: weft reads LLVM IR (.ll, .bc), C and C++")
    return decode_text(data), str(source)
