"""Parts of vectorization that can be left out, to see what each is worth; cheap to import."""

from __future__ import annotations

from dataclasses import dataclass

from weft.diag.errors import SignatureError


@dataclass(frozen=True, slots=True)
class Switches:
    """What vectorization makes use of (the columns of Karrenberg and Hack, Table 1).

    Programs compute the same without.

    Parameters
    ----------
    uniform_values
        Values that are the same in all lanes, or a fixed number apart, stay scalar. Without, only those do that the
        addresses of vector accesses are computed from.
    uniform_control
        Branches that all lanes take together stay branches. Without, all control flow is linearized.
    scalar_counters
        Counters of loops stay scalar. Without, they are vectors, but where addresses are computed from them.
    scalar_replacement
        By which policy loads are replaced by values that are known, one of `SCALAR_REPLACEMENT`.
    """

    uniform_values: bool = True
    uniform_control: bool = True
    scalar_counters: bool = True
    scalar_replacement: str = "off"


ALL_ON = Switches()

SWITCHES = "uniform_values, uniform_control, scalar_counters, scalar_replacement"
"""How options call them."""

SCALAR_REPLACEMENT = ("off", "srqp", "esrqp", "ssrqp", "ssrqp_s")
"""The policies of scalar replacement (docs/scalar_replacement.md)."""


def switches(
    uniform_values: bool, uniform_control: bool, scalar_counters: bool, scalar_replacement: str
) -> Switches:
    """The switches that options of a decorator ask for.

    Raises
    ------
    SignatureError
        There is no such policy of scalar replacement.
    """
    if scalar_replacement not in SCALAR_REPLACEMENT:
        raise SignatureError(
            f"scalar_replacement={scalar_replacement!r}",
            hint=f"it may be {', '.join(map(repr, SCALAR_REPLACEMENT))}",
        )
    return Switches(uniform_values, uniform_control, scalar_counters, scalar_replacement)
