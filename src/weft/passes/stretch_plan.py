"""Whether lane groups of a kernel are as wide as stretches of threads with one quotient (`codegen.order.stretches`).

Where work-groups go on in rows, lane groups begin at multiples of their width of positions in the grid, which the
kernel as it is does not show: it adds the size of groups, whatever that is. So a copy is looked at whose groups are
merged.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.plain_passes import NARROWING
from weft.codegen.order.stretches import choose_stretch, stretch_widths
from weft.codegen.order.width import WidthChoice, one_register
from weft.codegen.widen.lanes import LaneSpace
from weft.ir import Value
from weft.ir.clone import clone_function
from weft.passes.kernel_unit import KernelUnit
from weft.transform.groups.merge_groups import merge_groups
from weft.transform.groups.work_items import WorkItems
from weft.transform.splitting.barriers import barriers_of


def stretch_of(unit: KernelUnit) -> WidthChoice | None:
    """How many lanes have one quotient, if they had better; looked at once, as it takes copies."""
    if unit.stretch is None:
        unit.stretch = (_choose(unit),)
    return unit.stretch[0]


def _choose(unit: KernelUnit) -> WidthChoice | None:
    order, base = unit.order, one_register(unit.spec.isa)
    if unit.options.width is not None or order.linear or barriers_of(unit.function):
        return None
    widths = [w for w in stretch_widths(unit.along(order.dimension, base)) if w <= unit.most_lanes]
    if not widths or not unit.planner.has_long_rows(order):
        return None
    return choose_stretch(_seen(unit, base, aligned=False), widths, lambda w: _seen(unit, w), unit.spec.isa)


def _seen(unit: KernelUnit, width: int, *, aligned: bool = True) -> Divergence:
    """The divergence of a copy whose numbers are narrow, and whose groups are merged to rows; the kernel stays.

    Lane groups begin anywhere if they are not `aligned`.
    """
    dimension, domain = unit.order.dimension, domain_named("product", (width,))
    trial = clone_function(unit.function, f"{unit.name}.stretches")
    if unit.walk is None:
        merge_groups(trial, dimension)
    shapes: dict[Value, Shape] = {
        WorkItems.of(trial).tid[dimension]: domain.strided(1, 64, width if aligned else 1)
    }
    part = LaneUnit(unit.module, trial, LaneSpace((width,)), shapes, unit.spec.isa)
    if NARROWING.name not in unit.runner.left_out:
        NARROWING.run(part)
    found = part.divergence
    del unit.module.functions[trial.name]
    return found
