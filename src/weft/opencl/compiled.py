"""What a kernel of a program in OpenCL C is compiled from."""

from __future__ import annotations

from msgspec import Struct

from weft.device.slots import packer_of
from weft.frontend.device.metadata import KernelInfo
from weft.frontend.device.work_items import HIDDEN, WORK_DIM
from weft.ir import Module
from weft.opencl.source import ProgramSource
from weft.runtime.packing import ArgumentPacker
from weft.target.machine import TargetSpec


class KernelOrigin(Struct, frozen=True):
    """What a kernel is compiled from; a `weft.device.origin.Origin`.

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

    @property
    def file(self) -> str:
        """What messages call the source."""
        return self.program.file

    @property
    def kind(self) -> str:
        """For which launches it is compiled, in a word."""
        return "placed" if self.placed else "plain"

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """The door, and what tells its kernels apart."""
        return "opencl", (self.program.digest, self.info.name)

    def packer(self) -> ArgumentPacker:
        """What makes slots of arguments, followed by the launch's own."""
        return packer_of(self.info, (WORK_DIM, *(HIDDEN if self.placed else ())))

    @property
    def symbol(self) -> str:
        """What its function is called in the program."""
        return self.info.name

    def module(self, small: bool, debug: bool = False) -> Module:
        """Its P-LLVM, for buffers of less than 2 GiB if they are `small`, or for the sanitizer."""
        from weft.frontend.device.definitions import alone
        from weft.frontend.opencl.adopt import adopt_kernel

        return adopt_kernel(
            alone(self.program.text, self.info.name, self.program.kernels),
            self.info.name,
            scope=self.program.scope.offsets,
            placed=self.placed,
            small=small,
            sub_group_size=self.info.sub_group_size,
            fused="fma" in TargetSpec.chosen().isa.features,
            debug=debug,
        )
