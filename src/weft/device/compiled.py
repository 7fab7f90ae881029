"""Code of a kernel in a C dialect, from the cache or through the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.compiled_kernel import CompiledKernelBase, Started
from weft.device.origin import Origin
from weft.device.slots import size_of, sized_arguments, with_sizes
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
        return with_sizes(self.origin.packer(), len(self.terms.sized))

    @property
    def sized(self) -> list[int | None]:
        """The arguments whose bytes follow all else, None for 0 bytes; that takes compiling it."""
        return sized_arguments(self.origin.info, self.terms.sized)

    def with_sizes(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What its launcher takes: converted arguments and the launch's own, and bytes of arguments."""
        if not self.terms.sized:
            return tuple(values)
        return (*values, *(0 if number is None else size_of(values[number]) for number in self.sized))

    def slots(self, args: Sequence[Any]) -> list[Any]:
        """The slots of converted arguments and the launch's own, without bytes of arguments."""
        return self.origin.packer().pack(args, checked=True)

    def _start(self) -> Started:
        # Importing the compiler takes longer than loading a kernel from the cache, which does without.
        from weft.frontend.device.assembly import check_assembly
        from weft.ir.array_sizes import append_sizes
        from weft.passes.lower_kernel import start_kernel

        with self.timings.measure("frontend"):
            module = self.origin.module(self.options.small_arrays)
            for function in module.definitions():
                check_assembly(function)
        symbol = self.origin.symbol
        if self.options.array_sizes:
            append_sizes(module.functions[symbol])
        return start_kernel(module, symbol, self.options, TargetSpec.chosen(), self.timings), ()
