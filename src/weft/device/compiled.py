"""Code of a kernel in a C dialect, from the cache or through the pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiled_kernel import CompiledKernelBase, Started
from weft.device.origin import Origin
from weft.options import CompileOptions
from weft.runtime.code_key import key_of
from weft.runtime.packing import ArgumentPacker
from weft.target.machine import TargetSpec


class CompiledKernel(CompiledKernelBase):
    """Machine code of a kernel.

    Attributes
    ----------
    origin
        What it is made of.
    """

    __slots__ = ("origin",)

    def __init__(self, origin: Origin, options: CompileOptions) -> None:
        self.origin = origin
        super().__init__(origin.kind, options)

    def _key(self) -> str | None:
        door, parts = self.origin.key
        return key_of(door, (*parts, self.types), self.options, TargetSpec.chosen())

    def _files(self) -> Sequence[str]:
        return (self.origin.file,)

    def _packer(self) -> ArgumentPacker:
        return self.origin.packer()

    def _start(self) -> Started:
        # Importing the compiler takes longer than loading a kernel from the cache, which does without.
        from weft.frontend.device.assembly import check_assembly
        from weft.passes.lower_kernel import start_kernel

        with self.timings.measure("frontend"):
            module = self.origin.module(self.options.small_arrays)
            for function in module.definitions():
                check_assembly(function)
        symbol = self.origin.symbol
        return start_kernel(module, symbol, self.options, TargetSpec.chosen(), self.timings), ()
