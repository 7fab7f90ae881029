"""Parts of vectorization that can be left out, to see what each is worth; cheap to import."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    uniform_values: bool = True
    uniform_control: bool = True
    scalar_counters: bool = True


ALL_ON = Switches()

SWITCHES = "uniform_values, uniform_control, scalar_counters"
"""How options call them."""
