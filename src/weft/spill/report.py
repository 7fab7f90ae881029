"""The table of spilled values of a kernel: where each went, why, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.machine.gpus import Occupancy
from weft.ptx.regalloc.places import Affine, Constant, LocalSlot, Place, ThreadSlot, WarpBase, WarpSlot
from weft.ptx.regalloc.rewrite import Inserted
from weft.spill.allocation import Spilled
from weft.spill.costs import cost_of, frequencies
from weft.spill.policies import Policy

_WHERE = {
    LocalSlot: "local",
    WarpSlot: "shared, of the warp",
    WarpBase: "shared, of the warp",
    ThreadSlot: "shared, of the thread",
    Constant: "computed again",
    Affine: "computed again",
}
_KINDS = ("local", "shared", "other")


def where(place: Place) -> str:
    """Where a value is, in words."""
    return _WHERE[type(place)]


def accesses(inserted: Sequence[Inserted]) -> Counter[tuple[str, str]]:
    """How many instructions of which kind were inserted: ``(opcode of memory or "other", space)``."""
    found: Counter[tuple[str, str]] = Counter()
    for each in inserted:
        i = each.instruction
        space = next((m for m in i.modifiers if m in ("local", "shared")), "")
        found[(i.opcode, space) if space else ("other", "")] += 1
    return found


def report(spilled: Spilled) -> str:
    """The report on one kernel."""
    kernel, settings = spilled.kernel, spilled.settings
    policy = (
        f"{settings.policy} chose {spilled.policy}" if settings.policy is Policy.AUTO else str(spilled.policy)
    )
    lines = [
        f"{kernel.source.name}: {settings.registers} registers for a pressure of {kernel.pressure}, {policy}",
        f"  {len(spilled.places)} values spilled; {spilled.local} bytes of local memory for each thread,"
        f" {spilled.shared} of shared memory for each block of {kernel.threads} threads",
        f"  {kernel.arch.name}: {_resident(spilled.after)} resident,"
        f" {_resident(spilled.before)} with local memory alone",
    ]
    if kernel.facts.unknown:
        lines.append(f"  nothing is known of: {', '.join(kernel.facts.unknown)}")
    if spilled.places:
        device = kernel.device
        often = frequencies(kernel.liveness.flow)
        warps = spilled.after.warps
        costs = cost_of(spilled.inserted, often, device, local=spilled.local, warps=warps)
        reloads = Counter(e.register for e in _memory_or_first(spilled.inserted, "reload"))
        stores = Counter(e.register for e in _memory_or_first(spilled.inserted, "store"))
        rows = [
            (
                name,
                f"b{kernel.values[name].bits}",
                choice.state.value,
                where(spilled.places[name]),
                str(reloads[name]),
                str(stores[name]),
                f"{costs.get(name, 0.0):,.0f}",
                choice.why,
            )
            for name, choice in sorted(spilled.choices.items(), key=lambda item: -costs.get(item[0], 0.0))
        ]
        lines += _table(("value", "type", "state", "where", "reloads", "stores", "cycles", "why"), rows)
        rest = costs.get("", 0.0)
        lines.append(
            f"  {sum(costs.values()):,.0f} cycles for a warp, {rest:,.0f} of them for set-up:"
            f" what a model of {device.name} expects, not what was measured"
        )
    return "\n".join(lines)


def _memory_or_first(inserted: Sequence[Inserted], kind: str) -> list[Inserted]:
    """One instruction for each reload or store."""
    found: list[Inserted] = []
    seen: set[tuple[str, int]] = set()
    for each in inserted:
        key = (each.register, each.at)
        if each.kind == kind and key not in seen:
            seen.add(key)
            found.append(each)
    return found


def _resident(fits: Occupancy) -> str:
    return f"{fits.warps} of {fits.most_warps} warps"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
    numbers = {4, 5, 6}
    return [
        "    "
        + "  ".join(
            cell.rjust(width) if k in numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]
