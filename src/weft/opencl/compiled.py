"""Code of a kernel of a program, from the cache or through the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.compiled_kernel import CompiledKernelBase, Lowered
from weft.frontend.opencl.metadata import KernelInfo
from weft.ir import Module
from weft.opencl.parameters import packer_of
from weft.opencl.source import ProgramSource
from weft.options import CompileOptions
from weft.runtime.arguments import ArgumentPacker
from weft.runtime.code_key import key_of
from weft.target.machine import TargetSpec


@dataclass(frozen=True, slots=True)
class KernelOrigin:
    """What a kernel is compiled from.

    Parameters
    ----------
    program
        Its program.
    info
        What the program says of it.
    placed
        Whether it is for launches whose ids do not begin at 0, or for parts of launches.
    """

    program: ProgramSource
    info: KernelInfo
    placed: bool

    def module(self, small: bool) -> Module:
        """Its P-LLVM, for buffers of less than 2 GiB if they are `small`."""
        from weft.frontend.opencl.adopt import adopt_kernel

        return adopt_kernel(
            self.program.text,
            self.info.name,
            scope=self.program.scope.offsets,
            placed=self.placed,
            small=small,
            sub_group_size=self.info.sub_group_size,
            fused="fma" in TargetSpec.chosen().isa.features,
        )


class CompiledKernel(CompiledKernelBase):
    """Machine code of a kernel for plain or for placed launches.

    Attributes
    ----------
    origin
        What it is made of.
    """

    __slots__ = ("origin",)

    def __init__(self, origin: KernelOrigin, options: CompileOptions) -> None:
        self.origin = origin
        super().__init__("placed" if origin.placed else "plain", options)

    def _key(self) -> str | None:
        program = self.origin.program
        parts = (program.digest, self.origin.info.name, self.types)
        return key_of("opencl", parts, self.options, TargetSpec.chosen())

    def _files(self) -> Sequence[str]:
        return (self.origin.program.file,)

    def _packer(self) -> ArgumentPacker:
        return packer_of(self.origin.info, self.origin.placed)

    def _lower(self) -> Lowered:
        # Importing the compiler takes longer than loading a kernel from the cache, which does without.
        from weft.passes.lower_kernel import lower_kernel

        with self.timings.measure("frontend"):
            module = self.origin.module(self.options.small_arrays)
        name = self.origin.info.name
        lowered = lower_kernel(module, name, self.options, TargetSpec.chosen(), self.timings)
        return lowered, tuple(lowered.remarks)
