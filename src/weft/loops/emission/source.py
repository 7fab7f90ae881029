"""Files with the kernels of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.diag.errors import EmissionError
from weft.diag.source import SourceSpan
from weft.loops.emission.cuda_file import CudaFile
from weft.loops.emission.kernel import legal
from weft.loops.emission.launches import HINT, EmittedKernel
from weft.loops.emission.nests import Refusal, nests_of
from weft.loops.emission.opencl_file import OpenClFile
from weft.loops.emission.subscripts import Shape

if TYPE_CHECKING:
    from weft.report.loop_nests import LoopNestReport


@dataclass(frozen=True, slots=True)
class EmittedSource:
    """A file with kernels.

    Parameters
    ----------
    text
        The file.
    kernels
        What is in it.
    refused
        Loops of the function that became none: their lines, and why.
    """

    text: str
    kernels: tuple[EmittedKernel, ...]
    refused: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        return self.text


def emit_report(
    report: LoopNestReport, language: str, shapes: Mapping[str, Mapping[str, Shape]] | None = None
) -> EmittedSource:
    """Write the loops of a report that may run as kernels.

    Parameters
    ----------
    report
        The report on the loops of some functions.
    language
        ``cuda`` for CUDA-Python, ``opencl`` for OpenCL C.
    shapes
        Of each function the arrays of Python that it takes.

    Raises
    ------
    EmissionError
        No loop can be written; the error is that of the first.
    """
    written: list[tuple[EmittedKernel, str]] = []
    refused: list[Refusal] = []
    first: EmissionError | None = None
    writer = CudaFile(report) if language == "cuda" else OpenClFile(report)
    counts: dict[str, int] = {}
    for found in nests_of(report):
        if isinstance(found, Refusal):
            refused.append(found)
            continue
        function = found.report.function
        counts[function] = counts.get(function, 0) + 1
        number = "" if counts[function] == 1 else f"_{counts[function]}"
        own = dict((shapes or {}).get(function, {}))
        try:
            written.append(writer.kernel(found, f"{legal(function)}_kernel{number}", own))
        except EmissionError as error:
            first = first or error
            line = found.report.line if error.span is None else error.span.line
            refused.append(Refusal(line, error.message))
    if not written:
        if first is not None:
            raise first
        file = report.loops[0].file if report.loops else ""
        span = SourceSpan(file, refused[0].line) if refused and refused[0].line else None
        reason = refused[0].reason if refused else "there are no loops"
        raise EmissionError(f"no loop can be a kernel: {reason}", span, HINT)
    told = tuple((r.line, r.reason) for r in refused)
    return EmittedSource(writer.file([t for _, t in written], told), tuple(k for k, _ in written), told)
