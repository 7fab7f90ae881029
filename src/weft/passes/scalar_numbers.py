"""Passes on the numbers of functions for one thread, which several lists share."""

from __future__ import annotations

from weft.analysis.flushed_numbers import LEFT
from weft.passes.declared import Meaning, Pass
from weft.passes.scalar import PLAIN, ScalarUnit
from weft.transform.exchange_loops import make_exchanges_atomic
from weft.transform.loops.bit_counts import count_bits
from weft.transform.loops.bit_reversals import reverse_bits
from weft.transform.numbers.bfloat_words import use_words
from weft.transform.numbers.called_remainders import replace_called_remainders
from weft.transform.numbers.estimated_quotients import estimate_quotients
from weft.transform.numbers.float_round_trips import drop_round_trips
from weft.transform.numbers.fused_sums import has_no_fused_sums, replace_fused_signs
from weft.transform.numbers.inverse_roots import replace_inverse_roots
from weft.transform.numbers.known_extrema import replace_known_extrema
from weft.transform.numbers.known_numbers import replace_known_numbers
from weft.transform.numbers.likely_conversions import expect_indices
from weft.transform.numbers.narrow_phis import narrow_phis
from weft.transform.numbers.near_remainders import replace_near_remainders
from weft.transform.numbers.other_choices import choose_others
from weft.transform.numbers.scaled_roots import scale_roots
from weft.transform.numbers.shifted_masks import separate_multiples
from weft.transform.numbers.short_conversions import shorten_conversions
from weft.transform.numbers.true_roots import take_true_roots
from weft.transform.numbers.wide_addresses import widen_addresses
from weft.transform.numbers.wide_comparisons import widen_comparisons
from weft.transform.numbers.written_quotients import find_written_quotients
from weft.transform.numbers.written_remainders import find_written_remainders


def _replace_known_numbers(unit: ScalarUnit) -> bool:
    near = sum(map(choose_others, unit.module.definitions()))
    near += sum(map(find_written_quotients, unit.module.definitions()))
    near += sum(map(find_written_remainders, unit.module.definitions()))
    near += sum(map(replace_near_remainders, unit.module.definitions()))
    near += sum(map(replace_called_remainders, unit.module.definitions()))
    near += sum(map(count_bits, list(unit.module.definitions())))
    near += sum(map(reverse_bits, list(unit.module.definitions())))
    near += sum(map(replace_known_numbers, unit.module.definitions()))
    return near + sum(map(separate_multiples, unit.module.definitions())) > 0


def _shorten_conversions(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    return sum(map(shorten_conversions, functions)) + sum(map(drop_round_trips, functions)) > 0


def _make_exchanges_atomic(unit: ScalarUnit) -> bool:
    return sum(map(make_exchanges_atomic, unit.module.definitions())) > 0


def _use_words(unit: ScalarUnit) -> bool:
    return sum(map(use_words, list(unit.module.definitions()))) > 0


def _narrow_phis(unit: ScalarUnit) -> bool:
    return sum(map(narrow_phis, unit.module.definitions())) > 0


def _widen_comparisons(unit: ScalarUnit) -> bool:
    return sum(map(widen_comparisons, unit.module.definitions())) > 0


def _expect_indices(unit: ScalarUnit) -> bool:
    return sum(expect_indices(function, unit.spec.isa) for function in list(unit.module.definitions())) > 0


def _widen_addresses(unit: ScalarUnit) -> bool:
    return sum(map(widen_addresses, unit.module.definitions())) > 0


def _replace_inverse_roots(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    inverted = sum(replace_inverse_roots(function, unit.spec.isa) for function in functions)
    inverted += sum(scale_roots(function, unit.spec.isa) for function in functions)
    inverted += sum(take_true_roots(function, unit.spec.isa) for function in functions)
    return inverted + sum(estimate_quotients(function, unit.spec.isa) for function in functions) > 0


def _replace_known_extrema(unit: ScalarUnit) -> bool:
    # One function that leaves flushing to the processor has all of a module run so.
    functions = list(unit.module.definitions())
    if any(LEFT in function.attributes for function in functions):
        return False
    return sum(map(replace_known_extrema, functions)) > 0


def _replace_fused_signs(unit: ScalarUnit) -> bool:
    return sum(replace_fused_signs(function, unit.spec.isa) for function in unit.module.definitions()) > 0


KNOWN_NUMBERS: Pass[ScalarUnit] = Pass(
    "known numbers",
    "no number of known sign is asked for it, quotients and remainders are written as such,"
    " none near a divisor is divided for it;"
    " bits are counted and turned around at once,"
    " multiples of quotients written as such, the other one of two is chosen",
    _replace_known_numbers,
    requires=(PLAIN,),
    optional=True,
)
EXCHANGE_LOOPS: Pass[ScalarUnit] = Pass(
    "exchange loops",
    "no loop updates memory by compare and exchange where there is an atomic operation for it",
    _make_exchanges_atomic,
    requires=(PLAIN,),
    optional=True,
)
BFLOAT_WORDS: Pass[ScalarUnit] = Pass(
    "bfloat words",
    "numbers of bfloat16 are integers of 16 bits, and their arithmetic is that of floats",
    _use_words,
    requires=(PLAIN,),
)
SHORT_CONVERSIONS: Pass[ScalarUnit] = Pass(
    "short conversions",
    "floats that fit in 32 bits do not become integers of 64, nor do others on their way to floats",
    _shorten_conversions,
    requires=(PLAIN,),
    optional=True,
)
NARROW_PHIS: Pass[ScalarUnit] = Pass(
    "narrow φs", "no φ is wider than its uses", _narrow_phis, requires=(PLAIN,), optional=True
)
WIDE_COMPARISONS: Pass[ScalarUnit] = Pass(
    "wide comparisons",
    "positions that the source keeps as int are compared as they are",
    _widen_comparisons,
    requires=(PLAIN,),
    optional=True,
)
LIKELY_CONVERSIONS: Pass[ScalarUnit] = Pass(
    "likely conversions",
    "floats that become places are expected to fit in integers: what brings others to the ends is behind a branch",
    _expect_indices,
    Meaning.SCALAR,
    optional=True,
)
WIDE_ADDRESSES: Pass[ScalarUnit] = Pass(
    "wide addresses",
    "places in rows that the source keeps as int are indices of 64 bits, and rows have addresses of their own",
    _widen_addresses,
    Meaning.SCALAR,
    optional=True,
)
INVERSE_ROOTS: Pass[ScalarUnit] = Pass(
    "inverse roots",
    "under fastmath vectors of doubles are multiplied by inverse roots, not divided by roots, where that is faster;"
    " where the processor has estimates of inverses, loops that would wait for its divider use them;"
    " what refines inverse roots of floats is multiplied by -0.5 behind sums, and roots of floats are instructions"
    " where loops have enough to do beside them",
    _replace_inverse_roots,
    Meaning.SCALAR,
    optional=True,
)
KNOWN_EXTREMA: Pass[ScalarUnit] = Pass(
    "known extrema",
    "vectors of floats of which the larger or smaller one is asked for are compared both ways, where one is a number",
    _replace_known_extrema,
    Meaning.SCALAR,
    optional=True,
)
FUSED_SUMS: Pass[ScalarUnit] = Pass(
    "fused sums",
    "no product of floats is added to another one with one rounding for its sign, where the processor cannot do that",
    _replace_fused_signs,
    Meaning.SCALAR,
    optional=True,
    applies=lambda unit: has_no_fused_sums(unit.spec.isa),
)
