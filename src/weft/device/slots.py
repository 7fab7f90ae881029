"""The runtime's slots for arguments of kernels that `weft.device.parameters` has converted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from weft.frontend.device.memory import SCOPE
from weft.frontend.device.metadata import ADDRESS, ArgumentInfo, KernelInfo, Passing
from weft.runtime.arguments import INDEX, POINTER, Parameter
from weft.runtime.array_memory import data_pointer
from weft.runtime.packing import ArgumentPacker


class _Pointer(Struct, frozen=True):
    """A slot with the address of an array; None is null."""

    formats: str = POINTER

    def mismatch(self, value: Any) -> str | None:
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(0 if value is None else data_pointer(value))


class _Described(Struct, frozen=True):
    """A slot with the address of an image's descriptor, behind which its pixels stand in the argument."""

    formats: str = POINTER

    def mismatch(self, value: Any) -> str | None:
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(data_pointer(value[0]))


class _Numbers(Struct, frozen=True):
    """Slots with the elements of a vector."""

    formats: str

    def mismatch(self, value: Any) -> str | None:
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots += value


class _NumberOrAddress(Struct, frozen=True):
    """A slot with a number, or with the address of an array."""

    formats: str

    def mismatch(self, value: Any) -> str | None:
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        if isinstance(value, np.ndarray):
            slots.append(data_pointer(value))
        else:
            slots += value


class _Index(Struct, frozen=True):
    """A slot with an integer of the launch's own."""

    formats: str = INDEX

    def mismatch(self, value: Any) -> str | None:
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(value)


def size_of(value: Any) -> int:
    """The bytes of an array that is no part of another one; 0 for all else."""
    return value.nbytes if isinstance(value, np.ndarray) and value.flags.owndata else 0


def sized_arguments(kernel: KernelInfo, parameters: Sequence[int]) -> list[int | None]:
    """The numbers of the arguments that parameters are for, of which vectors have one for each element; None for -1."""
    owners = [
        number
        for number, argument in enumerate(kernel.arguments)
        for _ in range(argument.lanes if argument.passing is Passing.VALUE else 1)
    ]
    return [owners[parameter] if parameter >= 0 else None for parameter in parameters]


def with_sizes(packer: ArgumentPacker, count: int) -> ArgumentPacker:
    """What makes slots as `packer` does, and of so many sizes behind all else."""
    names = (*packer.names, *(f"bytes.{k}" for k in range(count)))
    return ArgumentPacker(packer.kernel, names, (*packer.parameters, *(_Index() for _ in range(count))))


def packer_of(kernel: KernelInfo, own: Sequence[str]) -> ArgumentPacker:
    """What makes slots of arguments that `weft.device.parameters.converted` has checked, and of the launch's own.

    Parameters
    ----------
    kernel
        The kernel.
    own
        Names of the integers that follow the arguments and the address of the program's variables.
    """
    names = [argument.name for argument in kernel.arguments]
    parameters = [_parameter(argument) for argument in kernel.arguments]
    launch: list[Parameter] = [_Pointer(), *(_Index() for _ in own)]
    return ArgumentPacker(kernel.name, (*names, SCOPE, *own), (*parameters, *launch))


def _parameter(argument: ArgumentInfo) -> Parameter:
    match argument.passing:
        case Passing.VALUE:
            dtype = np.dtype(argument.element)
            if ADDRESS in argument.qualifiers:
                return _NumberOrAddress(dtype.char)
            padding = f"{8 - dtype.itemsize}x" if dtype.itemsize < 8 else ""
            return _Numbers((dtype.char + padding) * argument.lanes)
        case Passing.LOCAL | Passing.SAMPLER:
            return _Index()
        case Passing.IMAGE:
            return _Described()
        case _:
            return _Pointer()
