"""Slots of a lane group's frame."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from weft.ir import Argument, Value
from weft.ir.types import I32
from weft.transform.splitting.frame import FRAME_ALIGN, Slot, assign_slots

VALUES: list[Value] = [Argument(I32, f"v{i}", i) for i in range(8)]


@st.composite
def live_sets(draw: st.DrawFn):
    sets = draw(st.lists(st.lists(st.sampled_from(VALUES), unique=True), min_size=1, max_size=5))
    sizes = {v: (s, min(s, 16)) for v in VALUES for s in [draw(st.sampled_from((1, 2, 4, 8, 16, 32)))]}
    strides = draw(st.dictionaries(st.sampled_from(VALUES), st.sampled_from((0, 1, -4, 8))))
    return sets, sizes, strides, draw(st.sampled_from((1, 4, 7, 16)))


@given(live_sets())
def test_values_kept_at_one_barrier_never_overlap(drawn):
    sets, sizes, strides, lanes = drawn
    slots, size = assign_slots(sets, sizes, strides, lanes)
    assert size % FRAME_ALIGN == 0
    for live in sets:
        taken = sorted((slots[v].offset, slots[v].offset + slots[v].bytes(lanes)) for v in live)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))
        assert all(start >= 0 and end <= size for start, end in taken)


@given(live_sets())
def test_slots_are_aligned_and_values_with_a_stride_take_one_lane(drawn):
    sets, sizes, strides, lanes = drawn
    slots, _ = assign_slots(sets, sizes, strides, lanes)
    assert set(slots) == {v for live in sets for v in live}
    for value, slot in slots.items():
        size, align = sizes[value]
        assert slot.offset % align == 0
        assert slot.stride == strides.get(value)
        assert slot.bytes(lanes) == (size if value in strides else size * lanes)


def test_values_of_different_barriers_share_their_place():
    a, b, c = VALUES[:3]
    slots, size = assign_slots([[a], [b], [c]], dict.fromkeys((a, b, c), (4, 4)), {}, 16)
    assert {slots[v] for v in (a, b, c)} == {Slot(0, 4)}
    assert size == 64


def test_a_value_with_a_stride_fits_behind_a_vector():
    a, b = VALUES[:2]
    slots, size = assign_slots([[a, b]], {a: (4, 4), b: (8, 8)}, {b: 3}, 4)
    assert slots == {a: Slot(0, 4), b: Slot(16, 8, 3)}
    assert size == 64
