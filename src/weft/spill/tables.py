"""The four distributions of Sampaio et al. Fig. 26 over a set of kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.ptx.regalloc.places import Affine, Constant, LocalSlot, Place, ThreadSlot, WarpBase, WarpSlot
from weft.spill.allocation import Spilled
from weft.spill.policies import kind_of

_CODE: dict[type[Place], str] = {
    LocalSlot: "local",
    WarpSlot: "shared (0,⊥)",
    WarpBase: "shared (c,⊥)",
    ThreadSlot: "shared ⊥",
    Constant: "computed (0,c)",
    Affine: "computed (c,c')",
}


@dataclass(slots=True)
class Distributions:
    """Counts.

    Attributes
    ----------
    values
        States of all values (a).
    spilled
        States of those that were spilled (b).
    loads
        Uses that were reconstructed, by kind (c).
    stores
        Writes of spilled values, by kind; what is computed again needs no code (d).
    """

    values: Counter[str] = field(default_factory=Counter)
    spilled: Counter[str] = field(default_factory=Counter)
    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        """As a table, with shares in percent."""
        lines: list[str] = []
        for title, counts in (
            ("(a) values", self.values),
            ("(b) spilled values", self.spilled),
            ("(c) loads", self.loads),
            ("(d) stores", self.stores),
        ):
            total = sum(counts.values())
            lines.append(f"{title}: {total}")
            lines += [
                f"  {name:16} {count:6} {100 * count / total:5.1f} %"
                for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                if count
            ]
        return "\n".join(lines) + "\n"


def distributions(kernels: Iterable[Spilled]) -> Distributions:
    """The distributions over kernels whose registers are allocated."""
    found = Distributions()
    for spilled in kernels:
        kernel = spilled.kernel
        found.values.update(kind_of(value).value for value in kernel.values.values())
        found.spilled.update(kind_of(kernel.values[name]).value for name in spilled.places)
        seen: set[tuple[str, str, int]] = set()
        for each in spilled.inserted:
            key = (each.kind, each.register, each.at)
            if each.kind in ("reload", "store") and key not in seen:
                seen.add(key)
                code = _CODE[type(spilled.places[each.register])]
                (found.loads if each.kind == "reload" else found.stores)[code] += 1
        for name, place in spilled.places.items():
            if isinstance(place, Constant | Affine):
                found.stores[_CODE[type(place)]] += len(kernel.writers[name])
    return found
