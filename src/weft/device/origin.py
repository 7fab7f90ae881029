"""What a kernel in a C dialect is compiled from, as the doors for it share."""

from __future__ import annotations

from typing import Protocol

from weft.frontend.device.metadata import KernelInfo
from weft.ir import Module
from weft.runtime.packing import ArgumentPacker


class Origin(Protocol):
    """What one kernel of a program is compiled from."""

    @property
    def info(self) -> KernelInfo:
        """What the program says of it."""
        ...

    @property
    def file(self) -> str:
        """What messages call the source."""
        ...

    @property
    def kind(self) -> str:
        """For which launches it is compiled, in a word."""
        ...

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """The door, and what tells kernels of that door apart."""
        ...

    @property
    def symbol(self) -> str:
        """What its function is called in the program."""
        ...

    def module(self, small: bool, debug: bool = False) -> Module:
        """Its P-LLVM, for buffers of less than 2 GiB if they are `small`, or for the sanitizer."""
        ...

    def packer(self) -> ArgumentPacker:
        """What makes slots of arguments that `weft.device.parameters.converted` has checked."""
        ...
