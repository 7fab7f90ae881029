"""A control-uniform program with barriers under masks means what it did before, under FR and OBL."""

import numpy as np
import pytest

from codegen.test_lane_continuations import DIVERGES, EARLY_RETURN, LOOP, STRIDED, kernel
from weft import interp
from weft.analysis.shapes import domain_named
from weft.codegen.lanes.lane_passes import make_control_uniform
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.widen.lanes import LaneSpace
from weft.errors import BarrierDivergence
from weft.interp import Geometry, Image, Memory, Program, run_function
from weft.ir.reader import read_module
from weft.machine.host import chosen
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize
from weft.transform.groups.work_items import lower_work_items

WIDTH = 4
BARRIER = "call void @weft.barrier()"
PROGRAMS = {
    "early return": EARLY_RETURN,
    "loop": LOOP,
    "equal trips": STRIDED.replace("EXTRA", "0"),
    "unequal trips": STRIDED.replace("EXTRA", "2"),
    "returns": DIVERGES.replace("ELSE", "").replace("END", ""),
    "two sides": DIVERGES.replace("ELSE", BARRIER).replace("END", ""),
    "behind": DIVERGES.replace("ELSE", "").replace("END", BARRIER),
}


def linearized(text: str) -> Program:
    module = read_module(optimize(text, CANONICAL, TargetSpec.chosen().machine))
    function = module.functions["kernel"]
    lower_work_items(module, function)
    shapes = {
        a: domain_named("product", (WIDTH,)).strided(1, 64, WIDTH) for a in function.args if a.name == "tid.x"
    }
    make_control_uniform(LaneUnit(module, function, LaneSpace((WIDTH,)), shapes, chosen().isa))
    return Program(module)


def initial(threads: int) -> np.ndarray:
    return np.arange(3 * threads, dtype=np.int32) * 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_that_pass_a_barrier_apart_do_as_before(name: str) -> None:
    text = kernel(PROGRAMS[name])
    before, after = Program(read_module(text)), linearized(text)
    for threads in (4, 11, 16):
        for n in (0, 2, 3, 5):
            wanted, diverges = initial(threads), False
            try:
                interp.launch(before, "kernel", [wanted, n], 1, threads, width=WIDTH)
            except BarrierDivergence:
                diverges = True
            for semantics in ("FR", "OBL"):
                got, memory = initial(threads), Memory()
                x = np.arange(-(-threads // WIDTH) * WIDTH, dtype=np.uint64)
                arguments = [memory.map_array(got), n, x, 0, 0, 0, 0, 0, threads, 1, 1, 1, 1, 1, 0, 0, 0]
                try:
                    run_function(
                        Image(after, memory), "kernel", arguments, WIDTH, semantics=semantics, active=x < threads,
                        geometry=Geometry((1, 1, 1), (threads, 1, 1), 0, 1, WIDTH),
                    )  # fmt: skip
                except BarrierDivergence:
                    assert diverges, (threads, n, semantics)
                    continue
                assert not diverges, (threads, n, semantics)
                assert got.tolist() == wanted.tolist(), (threads, n, semantics)
