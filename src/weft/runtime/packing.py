"""Arguments of a launch: checking them, and packing them into the slots that an entry point reads.

Checks come before anything is packed or run; a value already known to be of the parameter's type, as after dispatch on
types, skips them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from weft.diag.errors import ArgumentError
from weft.runtime.arguments import Parameter


class ArgumentPacker(Struct, frozen=True):
    """Turns the arguments of a kernel into slots.

    Parameters
    ----------
    kernel
        Its name, for messages.
    names
        Names of its parameters.
    parameters
        What they take.
    """

    kernel: str
    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def formats(self) -> str:
        return "".join(parameter.formats for parameter in self.parameters)

    def pack(self, args: Sequence[Any], *, checked: bool = False) -> list[Any]:
        """Return the values of all slots, in order.

        Parameters
        ----------
        args
            As the user passed them.
        checked
            Whether they are known to fit, but for the range of numbers.

        Raises
        ------
        ArgumentError
            Their number or one of them is wrong.
        """
        if not checked:
            self._check(args)
        slots: list[Any] = []
        for parameter, value in zip(self.parameters, args, strict=True):
            parameter.add(value, slots)
        return slots

    def accepts(self, args: Sequence[Any]) -> bool:
        """Whether the arguments fit, ranges of numbers included."""
        try:
            struct.pack("@" + self.formats, *self.pack(args))
        except (ArgumentError, struct.error, OverflowError):
            return False
        return True

    def blame(self, args: Sequence[Any]) -> ArgumentError:
        """Return the error for arguments that `struct` refused: a number does not fit its slot."""
        for name, parameter, value in zip(self.names, self.parameters, args, strict=True):
            slots: list[Any] = []
            parameter.add(value, slots)
            try:
                struct.pack(parameter.formats, *slots)
            except (struct.error, OverflowError):
                wanted = getattr(parameter, "dtype", "number")
                return self._error(name, f"{value!r} does not fit the parameter's type, {wanted}")
        raise AssertionError("all arguments fit")

    def _check(self, args: Sequence[Any]) -> None:
        if len(args) != len(self.names):
            listed = ", ".join(self.names)
            raise ArgumentError(
                f"{self.kernel} takes {len(self.names)} arguments ({listed}), and got {len(args)}",
                hint="give one for each parameter, in their order",
            )
        for name, parameter, value in zip(self.names, self.parameters, args, strict=True):
            reason = parameter.mismatch(value)
            if reason:
                raise self._error(name, reason)

    def _error(self, name: str, reason: str) -> ArgumentError:
        return ArgumentError(
            f"argument '{name}' of {self.kernel}: {reason}",
            hint="convert the argument, or compile for its own type",
        )
