"""Code for launches of one kind, as the driver asks for it."""

import pytest

from weft.opencl.prepare import Built, LaunchKind
from weft.opencl.source import build_source


@pytest.mark.optimized
def test_one_work_item_fills_no_lanes() -> None:
    built = Built(build_source("kernel void k(global float *x) { x[get_global_id(0)] *= 2; }"))
    alone = built.code("k", LaunchKind((1, 1, 1)))
    assert alone.options.width == 1 and built.code("k", LaunchKind((64, 1, 1))).options.width is None
    assert not [i for i in alone.assembly().splitlines() if "mulps" in i and "zmm" in i]
    groups = Built(
        build_source("kernel void k(global uint *x) { *x = get_sub_group_size(); }", "-cl-std=CL3.0")
    )
    assert groups.code("k", LaunchKind((1, 1, 1))).options.warp == 32
