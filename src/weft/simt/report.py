"""The text of a simulation."""

from __future__ import annotations

from weft.simt.places import Space
from weft.simt.result import Access, Simulation


def text_of(simulation: Simulation) -> str:
    """What the model says, for people."""
    device, fits = simulation.device, simulation.occupancy
    lines = [
        f"{simulation.kernel} on a model of {device.name}: {simulation.cycles:,.0f} cycles"
        f" ({simulation.seconds * 1e6:,.1f} us) predicted, not measured",
        f"  limited by {simulation.limit}",
        f"  {simulation.groups} work-groups; {fits.blocks} at a time on each of {device.multiprocessors}"
        f" multiprocessors: {fits.warps} of {fits.most_warps} warps, limited by {fits.limit}"
        f" ({simulation.registers} registers)",
        f"  {simulation.issued:,} instructions issued, {simulation.lane_use:.0%} of lanes active",
        "  cycles that each resource needs:",
    ]
    lines += [
        f"    {name:30} {value:14,.0f}"
        for name, value in sorted(simulation.bounds.items(), key=lambda item: -item[1])
        if value
    ]
    lines += ["  accesses:", f"    {'':28} {'requests':>10} {'each':>6} {'least':>6} {'hits':>6}"]
    lines += [_access(access) for access in simulation.accesses]
    if simulation.sensitivity:
        lines.append("  cycles with one figure of the model changed:")
        lines += [f"    {name:46} x {value:.2f}" for name, value in simulation.sensitivity.items()]
    return "\n".join(lines) + "\n"


def _access(access: Access) -> str:
    counts = access.counts
    where = f"line {access.span.line}" if access.span is not None else ""
    name = f"{where:9} {access.kind} {access.space.value}"
    each = counts.transactions / counts.requests
    hits = f"{counts.hits / counts.transactions:6.0%}" if access.space is not Space.SHARED else "      "
    return f"    {name:28} {counts.requests:10,} {each:6.1f} {counts.least / counts.requests:6.1f} {hits}"
