"""A launcher that first lets the interpreter judge each pass."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weft.check.budget import TooLong
from weft.check.compare import first_difference
from weft.check.inputs import Content, LaunchInputs, Workspace, spanned_bytes
from weft.check.order import order_dependence
from weft.check.run import KernelFacts, StageProgram, static_shared_bytes
from weft.check.sampling import run_sampled
from weft.diag.errors import MiscompilationError, WeftError
from weft.interp.sanitizer.sanitizer import find
from weft.options import CompileOptions, Overlap, check_step
from weft.passes.lower_kernel import LoweredKernel
from weft.runtime.dispatch_records import LaunchArguments
from weft.runtime.launch import Launcher
from weft.runtime.shape import LaunchShape

if TYPE_CHECKING:
    from weft.runtime.packing import ArgumentPacker

MAX_THREADS = 1 << 14
"""Threads of the largest launch that is checked."""

MAX_BYTES = 1 << 28
"""Bytes of the arrays of the largest launch that is checked."""

_log = logging.getLogger("weft.check")


class CheckedLauncher:
    """Launches a kernel as `Launcher` does, after running the program behind each pass on the interpreter.

    Parameters
    ----------
    launcher
        Runs the machine code.
    packer
        The kernel's parameters.
    lowered
        The kernel with its stages.
    options
        How it was compiled.

    Attributes
    ----------
    checked
        The passes whose programs the latest launch ran and found to agree; ``machine code`` is the last.
    """

    def __init__(
        self, launcher: Launcher, packer: ArgumentPacker, lowered: LoweredKernel, options: CompileOptions
    ) -> None:
        self._launcher = launcher
        self._packer = packer
        self._options = options
        self._has_vector_math = bool(lowered.math)
        facts = KernelFacts(lowered.arena, lowered.math, static_shared_bytes(lowered.stages[0]))
        self._stages = [StageProgram(stage, facts) for stage in lowered.stages]
        self._launched = 0
        self.checked: list[str] = []

    def record(self, shape: LaunchShape, arguments: LaunchArguments | None, overlap: Overlap) -> None:
        """No launch is made without Python's checks."""

    def launch(self, shape: LaunchShape, args: Sequence[Any], *, checked: bool = False) -> None:
        """Run the kernel and return when all its groups have run.

        Raises
        ------
        MiscompilationError
            A pass, or the generation of machine code, changed what the kernel does. Unless it was the latter,
            or only its code shows what it was, nothing has been written.
        """
        self.checked = []
        # Arguments that do not fit are the launcher's to refuse.
        reason = self._why_not(shape, args) if self._launcher.accepts(args) else "the arguments do not fit"
        if reason:
            _log.info("%s is not checked: %s", self._packer.kernel, reason)
            self._launcher.launch(shape, args, checked=checked)
            return
        inputs = LaunchInputs.of(self._packer, args)
        wanted = self._interpret(inputs, shape)
        self._launcher.launch(shape, args, checked=checked)
        if wanted is not None:
            # A vector math library may round otherwise than the C library.
            slack = 0.0 if self._has_vector_math else None
            difference = first_difference(inputs, wanted, inputs.contents(), slack)
            if difference is not None and check_step() > 1:
                # Perhaps it was a pass whose program has not been run.
                self._run(self._used(shape), inputs, shape)
            self._judge("machine code", difference, inputs, shape)

    def accepts(self, args: Sequence[Any]) -> bool:
        """Whether `launch` would take the arguments."""
        return self._launcher.accepts(args)

    def _why_not(self, shape: LaunchShape, args: Sequence[Any]) -> str | None:
        threads = shape.groups * shape.group_threads
        if threads > MAX_THREADS:
            return f"{threads} threads are too many for the interpreter"
        if (spanned := spanned_bytes(self._packer, args)) > MAX_BYTES:
            return f"arrays of {spanned} bytes are too large to be copied for each pass"
        if self._options.fastmath:
            return "fastmath lets passes change results"
        return self._order_dependence

    @functools.cached_property
    def _order_dependence(self) -> str | None:
        # Of the canonical program: before it, every result is stored in a variable.
        return order_dependence(self._stages[1].program.module)

    def _interpret(self, inputs: LaunchInputs, shape: LaunchShape) -> list[Content] | None:
        """What memory holds after the launch, by all stages alike that are run; None when that cannot be said."""
        turn, self._launched = self._launched, self._launched + 1
        # The entry point takes most steps by far. Its code has to give what the other stages give.
        return run_sampled(
            self._used(shape),
            check_step(),
            lambda stages: self._run(stages, inputs, shape),
            turn,
            last=self._has_vector_math,
        )

    def _used(self, shape: LaunchShape) -> list[StageProgram]:
        """The stages that a launch of this shape runs."""
        return [
            stage
            for stage in self._stages
            if stage.stage.changed in [r.function for r in stage.runnables_used(shape)]
        ]

    def _run(
        self, stages: Sequence[StageProgram], inputs: LaunchInputs, shape: LaunchShape
    ) -> list[Content] | None:
        self.checked = []
        wanted: list[Content] | None = None
        before: StageProgram | None = None
        for stage in stages:
            name = stage.stage.name
            if before is not None and stage.repeats(before):
                self.checked.append(name)
                continue
            before = None
            try:
                got = stage.run(inputs, shape)
            except TooLong:
                _log.info("%s is not checked after %s: it takes too long", self._packer.kernel, name)
                if wanted is None:
                    return None
                continue
            except WeftError as error:
                if wanted is None:
                    _log.info("%s is not checked: %s", self._packer.kernel, error.message)
                    return None
                self._judge(name, error.message, inputs, shape)
                return None
            if got is None:
                _log.info("%s is not checked after %s", self._packer.kernel, name)
                continue
            if wanted is not None and not self._judge(
                name, first_difference(inputs, wanted, got), inputs, shape
            ):
                return None
            if wanted is None:
                wanted = got
            self.checked.append(name)
            before = stage
        return wanted

    def _judge(self, stage: str, difference: str | None, inputs: LaunchInputs, shape: LaunchShape) -> bool:
        """Whether a stage agrees with those before it; false when the program has no defined result at all."""
        if difference is None:
            if stage == "machine code":
                self.checked.append(stage)
            return True
        source = self._stages[0]
        workspace = Workspace(inputs)
        findings = find(
            source.program, source.stage.full.function, workspace.slots, shape.grid, shape.block,
            memory=workspace.memory, dynamic_shared=shape.dynamic_bytes, width=source.stage.width or None,
        )  # fmt: skip
        if findings:
            _log.info("%s is not checked: %s", self._packer.kernel, findings[0].message)
            return False
        raise MiscompilationError(
            f"'{stage}' changed what {self._packer.kernel} computes: {difference}",
            hint="this is a defect of weft; please report it with the kernel and its arguments",
        )
