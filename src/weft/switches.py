"""Parts of vectorization that can be left out, to see what each is worth; cheap to import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import force_setattr

from weft.diag.errors import PassError, SignatureError

OPTIONAL_PASSES = {
    name.replace(" ", "-").replace("φ", "phi"): name
    for name in (
        *(
            "aligned versions",
            "bands",
            "blocks inside",
            "boscc",
            "both ways",
            "butterflies",
            "common numbers",
            "conditions",
            "copied runs",
            "counter banks",
            "counts ahead",
            "cut rows",
            "exchange loops",
            "filled runs",
            "fills",
            "flushing mode",
            "front versions",
            "full groups",
            "fused sums",
            "grid walks",
            "group order",
            "guard bounds",
            "guessed ranges",
            "idle iterations",
            "head tests",
            "inner versions",
            "inverse roots",
            "known extrema",
            "known numbers",
            "lanes in turn",
            "likely conversions",
            "local rows",
            "low halves",
        ),
        *(
            "meeting stores",
            "narrow φs",
            "narrowing",
            "next places",
            "own arrays",
            "parted loads",
            "plain loops",
        ),
        *(
            "reads ahead",
            "register rounds",
            "rolled loops",
            "rounds together",
            "row copies",
            "row questions",
            "row strips",
            "rows in turn",
            "scalar replacement",
            "set tests",
            "shared loads",
            "shared stacks",
            "shared trees",
            "short conversions",
            "short rows",
            "signed counters",
            "signed indices",
            "tile rows",
            "turned loops",
            "uniform exits",
            "updated arrays",
            "voted bits",
            "wide addresses",
            "wide comparisons",
            "wide masks",
            "written back",
            "written shuffles",
            "written trees",
        ),
    )
}
"""The passes that may be left out, as options write them, with their names. The lists of passes are the truth
(`weft.passes.declared.Pass.optional`); a test compares, as importing them takes longer than a decorator should."""

SCALAR_REPLACEMENT = ("off", "srqp", "esrqp", "ssrqp", "ssrqp_s")
"""The policies of scalar replacement (docs/scalar_replacement.md)."""

DEFAULT_REPLACEMENT = "ssrqp"
"""That of all doors, where nothing else is asked for."""


class Switches(Struct, frozen=True):
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
    without
        Optional passes that do not run, by name.
    count_lanes
        Whether the code counts how many lanes do the work of a thread; `weft.profile` asks for it.

    Raises
    ------
    PassError
        There is no optional pass of a name.
    """

    uniform_values: bool = True
    uniform_control: bool = True
    scalar_counters: bool = True
    scalar_replacement: str = DEFAULT_REPLACEMENT
    without: tuple[str, ...] = ()
    count_lanes: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "without", left_out(self.without))

    @property
    def replacement(self) -> str:
        """The policy of scalar replacement that is in force, `without` considered."""
        return "off" if "scalar replacement" in self.without else self.scalar_replacement


def left_out(names: Iterable[str]) -> tuple[str, ...]:
    """The names of optional passes, in one order, of names as options write them.

    Raises
    ------
    PassError
        There is no optional pass of a name.
    """
    found: set[str] = set()
    for name in (names,) if isinstance(names, str) else names:
        flag = str(name).replace(" ", "-").replace("φ", "phi")
        if flag not in OPTIONAL_PASSES:
            raise PassError(
                f"there is no optional pass {name!r}", hint=f"there are {', '.join(OPTIONAL_PASSES)}"
            )
        found.add(OPTIONAL_PASSES[flag])
    return tuple(sorted(found))


ALL_ON = Switches()

SWITCHES = "uniform_values, uniform_control, scalar_counters, scalar_replacement, without"
"""How options call them."""


def switches(
    uniform_values: bool,
    uniform_control: bool,
    scalar_counters: bool,
    scalar_replacement: str,
    without: Sequence[str],
) -> Switches:
    """The switches that options of a decorator ask for.

    Raises
    ------
    SignatureError
        There is no such policy of scalar replacement.
    PassError
        There is no optional pass of a name in `without`.
    """
    if scalar_replacement not in SCALAR_REPLACEMENT:
        raise SignatureError(
            f"scalar_replacement={scalar_replacement!r}",
            hint=f"it may be {', '.join(map(repr, SCALAR_REPLACEMENT))}",
        )
    return Switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, tuple(without))
