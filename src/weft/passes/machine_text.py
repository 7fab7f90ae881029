"""The text of a module behind the last program that the interpreter runs, as LLVM is given it, for every door."""

from __future__ import annotations

from weft.ir import Module
from weft.ir.writer import write_module
from weft.machine.targets import Isa
from weft.target.own_math import with_definitions
from weft.target.rewrites.asked_pushes import ask_at_pushes
from weft.target.rewrites.hardware_gathers import with_hardware_gathers
from weft.target.rewrites.lone_loads import with_lone_loads
from weft.target.rewrites.masked_loops import with_masked_loops
from weft.target.rewrites.numbered_accesses import number_accesses, with_numbered_accesses
from weft.target.rewrites.numbered_masks import number_masks
from weft.target.rewrites.ordinary_lanes import mark_ordinary, with_ordinary_lanes
from weft.target.rewrites.rounding_sums import round_by_sums
from weft.target.rewrites.short_fills import with_short_fills
from weft.target.rewrites.short_saturations import saturate_by_limits
from weft.target.rewrites.taken_places import with_taken_places
from weft.target.rewrites.totals_in_lanes import join_totals
from weft.target.rewrites.whole_stores import with_whole_stores
from weft.target.rewrites.word_gathers import gather_words, with_word_gathers


def machine_text(module: Module, isa: Isa) -> str:
    """The module's text, with what the processor has no instruction for; masks may be numbers in the module then."""
    for function in list(module.definitions()):
        join_totals(function)
        ask_at_pushes(function, isa)
        number_masks(function, isa)
        number_accesses(function, isa)
        gather_words(function, isa)
        mark_ordinary(function, isa)
        round_by_sums(function, isa)
        saturate_by_limits(function)
    text = with_numbered_accesses(with_definitions(write_module(module, plain=True), isa))
    if not isa.mask_registers and isa.core.fast_gathers:
        text = with_hardware_gathers(text)
    text = with_masked_loops(with_ordinary_lanes(text, isa), isa)
    text = with_taken_places(with_short_fills(text, isa), isa)
    return with_whole_stores(with_lone_loads(with_word_gathers(text), isa), isa)
