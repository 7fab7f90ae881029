"""The exceptions of weft, every one a `WeftError` that knows where in the user's source it arose.

=====================  ============  =======================================================================
exception              also a        raised when
=====================  ============  =======================================================================
`UnsupportedError`     NotImpl..     a construct is outside the kernel language, or not yet part of it
`TypingError`          TypeError     types conflict: no such operation, literal out of range, name unknown
                                     or without a value, kernel that returns one
`SignatureError`       TypeError     a signature cannot be read, or does not fit the function
`ArgumentError`        both          arguments of a launch do not fit: number, kind, dtype, read-only array
`LaunchError`          both          grid, block or shared memory of a launch are missing or out of range
`ArrayShapeError`      ValueError    a compiled function makes an array of a negative extent
`OutOfMemoryError`     MemoryError   there is no memory for an array that a compiled function makes
`SettingError`         ValueError    a setting or an environment variable of weft has a senseless value
`IRSyntaxError`        ValueError    LLVM text is malformed, or holds something the reader does not know
`PtxError`             ValueError    PTX is malformed, breaks a rule of PTX, or asks for what its target lacks
`VerifyError`                        a P-LLVM function breaks a rule of the representation
`BarrierDivergence`    RuntimeError  a barrier was reached by some threads of a work-group and not by others
`SanitizerError`       RuntimeError  a kernel run with ``debug=True`` did something undefined
`PassError`            ValueError    passes asked for in an order in which they cannot run
`GpuError`             RuntimeError  ``target="gpu"`` without a GPU or ``cuda-bindings``, or its driver refused
`CompileError`         RuntimeError  LLVM, a C compiler or a linker refused what it was given
`BuildError`           RuntimeError  clang refused an OpenCL program; `log` has all that it said
`UnresolvedError`      RuntimeError  code calls a function that no library defines; nothing has run
`InterpError`          RuntimeError  the interpreter met something without a defined meaning
`MiscompilationError`  RuntimeError  under ``WEFT_CHECK=1``, a pass changed what a program computes
=====================  ============  =======================================================================

`ArgumentError` is a `SignatureError` and a ValueError, `UnresolvedError` and `BuildError` are a `CompileError` each.
Nothing that weft raises on purpose is outside the hierarchy: ``except weft.errors.WeftError`` is enough around a
launch.
"""

from __future__ import annotations

from typing import Any, Self

from weft.diag.source import SourceSpan, render


class WeftError(Exception):
    """What all exceptions of weft have in common.

    Parameters
    ----------
    message
        One sentence without a full stop that names the construct.
    span
        Where in the user's source; `at` adds it later when the raiser does not know it.
    hint
        The way to write it, where there is one.
    """

    def __init__(self, message: str, span: SourceSpan | None = None, hint: str | None = None) -> None:
        super().__init__(message, span, hint)
        self.message = message
        self.span = span
        self.hint = hint

    def at(self, span: SourceSpan | None) -> Self:
        """Add a position unless one is known already, since the innermost is the most exact; return self."""
        if self.span is None:
            self.span = span
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, SourceSpan | None, str | None], dict[str, Any]]:
        # The default rebuilds from `args`, which lack what `at` added.
        return type(self), (self.message, self.span, self.hint), vars(self)

    def __str__(self) -> str:
        return render("", self.message, self.span, self.hint)


class UnsupportedError(WeftError, NotImplementedError):
    """A construct is outside the kernel language; the hint says how to write it where there is a way."""


class SourceError(UnsupportedError):
    """The source text of a function cannot be found, or is not what the function was compiled from."""


class EmissionError(UnsupportedError):
    """A loop cannot be written out as the source of a kernel."""


class TypingError(WeftError, TypeError):
    """The types in a kernel conflict, or a name in it has no value or no usable type."""


class SignatureError(WeftError, TypeError):
    """A signature cannot be read or does not fit its function."""


class ArgumentError(SignatureError, ValueError):
    """The arguments of a launch do not fit the kernel; nothing has been run or written."""


class LaunchError(WeftError, ValueError, TypeError):
    """The configuration of a launch (grid, block, shared memory) is missing or out of range."""


class ArrayShapeError(WeftError, ValueError):
    """A compiled function was to make an array of a negative extent."""


class OutOfMemoryError(WeftError, MemoryError):
    """There was no memory for an array that a compiled function was to make."""


class SettingError(WeftError, ValueError):
    """A setting, or an environment variable of weft, has a value that makes no sense."""


class IRSyntaxError(WeftError, ValueError):
    """LLVM text is malformed, or holds a construct that the reader does not know."""


class PtxError(WeftError, ValueError):
    """PTX text is malformed, breaks a rule of the language, or uses what its version or target does not have."""


class VerifyError(WeftError):
    """A P-LLVM function breaks a rule of the representation: a defect of weft, or of IR given to it."""


class PassError(WeftError, ValueError):
    """A pass was not given what it requires, was named that does not exist, or broke its promise."""


class BarrierDivergence(WeftError, RuntimeError):
    """A barrier was reached by part of a work-group's unfinished threads."""


class SanitizerError(WeftError, RuntimeError):
    """A kernel run under the sanitizer did something that has no defined result.

    `findings` lists each such thing (`weft.interp.sanitizer.findings.Finding`), in the order in which they were found.
    """

    findings: tuple[object, ...] = ()


class OutOfRangeError(SanitizerError, IndexError):
    """The sanitizer found an access outside of an array, or an index outside of a tuple, first."""


class DivisionByZeroError(SanitizerError, ZeroDivisionError):
    """The sanitizer found an integer division by zero first."""


class FailedAssertionError(SanitizerError, AssertionError):
    """The sanitizer found an assertion that does not hold first."""


class CompileError(WeftError, RuntimeError):
    """LLVM, or an external compiler, refused what it was given."""


class BuildError(CompileError):
    """A program in OpenCL C was refused; `log` holds all diagnostics, with the user's lines."""

    def __init__(
        self, message: str, span: SourceSpan | None = None, hint: str | None = None, log: str = ""
    ) -> None:
        super().__init__(message, span, hint)
        self.log = log


class UnresolvedError(CompileError):
    """Compiled code needs a symbol that neither weft nor a library of this process defines; nothing has run.

    `symbols` names all that are missing.
    """

    symbols: tuple[str, ...] = ()


class GpuError(WeftError, RuntimeError):
    """There is no GPU to run on, what runs there is not installed, or its driver refused what it was asked."""


class InterpError(WeftError, RuntimeError):
    """The interpreter met a program, or a value, without a defined meaning."""


class MiscompilationError(WeftError, RuntimeError):
    """Under ``WEFT_CHECK=1``, a pass that the message names changed what a program computes: a defect of weft."""
