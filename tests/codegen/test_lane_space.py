"""Lanes of a box: where each stands, and how far its value is from that of lane 0."""

import pytest

from weft.codegen.widen.lanes import LaneSpace


@pytest.mark.parametrize("extents", [(1,), (8,), (2, 4), (4, 1, 2), (2, 2, 2)])
def test_offsets_are_strides_times_coordinates(extents: tuple[int, ...]) -> None:
    lanes = LaneSpace(extents)
    strides = (3, -5, 7)[: len(extents)]
    places = [[lanes.coordinate(lane, d) for d in range(len(extents))] for lane in range(lanes.width)]
    assert len(set(map(tuple, places))) == lanes.width
    assert all(0 <= c < e for place in places for c, e in zip(place, extents, strict=True))
    wanted = [sum(s * c for s, c in zip(strides, place, strict=True)) for place in places]
    assert lanes.offsets(strides) == wanted
    # Neighbours along the first dimension are consecutive lanes.
    assert [lane - lanes.steps[0] * place[0] for lane, place in enumerate(places)] == [
        lanes.at_origin(lane, (0,)) for lane in range(lanes.width)
    ]
