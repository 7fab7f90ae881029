"""What a kernel of a program in CUDA C++ is compiled from."""

from __future__ import annotations

from msgspec import Struct

from weft.cuda.c.source import CudaSource
from weft.device.slots import packer_of
from weft.frontend.device.metadata import KernelInfo
from weft.ir import Module
from weft.runtime.packing import ArgumentPacker
from weft.target.machine import TargetSpec


class KernelOrigin(Struct, frozen=True):
    """What a kernel is compiled from; a `weft.device.origin.Origin`.

    Parameters
    ----------
    program
        Its program.
    function
        What its function is called there.
    """

    program: CudaSource
    function: str

    @property
    def symbol(self) -> str:
        """What its function is called once it is adopted: as the source calls it, where no other is called so."""
        title = self.info.name
        others = [info for info in self.program.kernels.values() if info.name == title]
        return title if len(others) == 1 else self.function

    @property
    def info(self) -> KernelInfo:
        """What the program says of it."""
        return self.program.kernels[self.function]

    @property
    def file(self) -> str:
        """What messages call the source."""
        return self.program.file

    @property
    def kind(self) -> str:
        """For which launches it is compiled, in a word."""
        return "plain"

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """The door, and what tells its kernels apart."""
        return "cuda-c", (self.program.digest, self.function)

    def packer(self) -> ArgumentPacker:
        """What makes slots of arguments, followed by the address of the program's variables."""
        return packer_of(self.info, ())

    def module(self, small: bool, debug: bool = False) -> Module:
        """Its P-LLVM, for small launches, or for the sanitizer."""
        from weft.frontend.cuda_c.adopt import adopt_kernel
        from weft.frontend.device.definitions import alone

        return adopt_kernel(
            alone(self.program.text, self.function, self.program.kernels),
            self.function,
            self.symbol,
            scope=self.program.scope.offsets,
            assertions=self.program.assertions,
            small=small,
            fused=self.program.options.contract and "fma" in TargetSpec.chosen().isa.features,
            debug=debug,
        )
