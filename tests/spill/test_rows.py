"""Each row of Sampaio et al. Fig. 18: which values it is for, the code before reads and behind writes, and its sums."""

import numpy as np
import pytest

import weft
from spill.programs import kernel
from weft.ptx.reader import read_module
from weft.ptx.regalloc.allocation import Demand
from weft.ptx.regalloc.places import (
    Affine,
    Constant,
    LocalSlot,
    Names,
    Site,
    ThreadSlot,
    WarpBase,
    WarpSlot,
    fits,
)
from weft.ptx.syntax import Guard, Register
from weft.ptx.writer import write_module
from weft.spill.kernel import Kernel
from weft.spill.module import spill
from weft.spill.policies import Policy, Row, choose, kind_of

NAMES = Names({16: "%h", 32: "%r", 64: "%rd"}, {}, "depot", "slots")
BASE, GUARD = Register("%r7"), Guard(Register("%p0"))


def site(bits=32, words=(0,), scratch=(4, 5, 6), guard=None, names=NAMES):
    return Site(names, words, bits, scratch, BASE, Register("%r8"), guard)


def text(code) -> list[str]:
    """Instructions as they are written."""
    from weft.ptx.syntax import Function, Module

    body = write_module(Module((9, 1), ("sm_90",), 64, [Function("f", True, body=list(code))]))
    return [
        line.strip().rstrip(";") for line in body.partition("{")[2].rpartition("}")[0].strip().splitlines()
    ]


@pytest.mark.parametrize(
    ("place", "bits", "reload", "store"),
    [
        (Constant(7), 32, ["mov.b32 %r0, 7"], []),
        (WarpSlot(4), 32, ["ld.volatile.shared.b32 %r0, [%r7+4]"], ["st.volatile.shared.b32 [%r7+4], %r0"]),
        (WarpSlot(8), 64, ["ld.volatile.shared.b64 %rd0, [%r7+8]"], ["st.volatile.shared.b64 [%r7+8], %rd0"]),
        (Affine((3,), 5), 32, ["mov.u32 %r0, %tid.x", "mad.lo.s32 %r0, %r0, 3, 5"], []),
        (Affine((3,), 5), 64, ["mov.u32 %r0, %tid.x", "mad.wide.s32 %rd0, %r0, 3, 5"], []),
        (
            Affine((3, 0, 2), 5),
            32,
            ["mov.u32 %r0, %tid.x", "mad.lo.s32 %r0, %r0, 3, 5", "mov.u32 %r4, %tid.z", "mad.lo.s32 %r0, %r4, 2, %r0"],
            [],
        ),
        (
            WarpBase(4, (3,)),
            32,
            ["ld.volatile.shared.b32 %r0, [%r7+4]", "mov.u32 %r4, %tid.x", "mad.lo.s32 %r0, %r4, 3, %r0"],
            ["mov.u32 %r4, %tid.x", "mad.lo.s32 %r4, %r4, -3, %r0", "st.volatile.shared.b32 [%r7+4], %r4"],
        ),
        (
            WarpBase(8, (4, 0, 1)),
            64,
            [
                "ld.volatile.shared.b64 %rd0, [%r7+8]", "mov.u32 %r4, %tid.x", "mad.wide.s32 %rd0, %r4, 4, %rd0",
                "mov.u32 %r4, %tid.z", "mad.wide.s32 %rd0, %r4, 1, %rd0",
            ],
            [
                "mov.u32 %r4, %tid.x", "mad.wide.s32 %rd4, %r4, -4, %rd0", "mov.u32 %r6, %tid.z",
                "mad.wide.s32 %rd4, %r6, -1, %rd4", "st.volatile.shared.b64 [%r7+8], %rd4",
            ],
        ),
        (LocalSlot(12), 32, ["ld.volatile.local.b32 %r0, [depot+12]"], ["st.volatile.local.b32 [depot+12], %r0"]),
        (ThreadSlot((128,)), 32, ["ld.volatile.shared.b32 %r0, [%r8+128]"], ["st.volatile.shared.b32 [%r8+128], %r0"]),
        (
            ThreadSlot((0, 128)),
            64,
            [
                "ld.volatile.shared.b32 %r0, [%r8]", "ld.volatile.shared.b32 %r1, [%r8+128]",
                "mov.b64 %rd0, {%r0, %r1}",
            ],
            [
                "mov.b64 {%r4, %r5}, %rd0", "st.volatile.shared.b32 [%r8], %r4",
                "st.volatile.shared.b32 [%r8+128], %r5",
            ],
        ),
    ],
)  # fmt: skip
def test_code_of_each_row(place, bits, reload, store) -> None:
    words = (0,) if bits == 32 else (0, 1)
    assert text(place.reload(site(bits, words))) == reload
    assert text(place.store(site(bits, words))) == store
    demand = place.demand(bits)
    assert isinstance(demand, Demand)
    for code, need in ((reload, demand.reload), (store, demand.store)):
        used = {word for word in (4, 5, 6) for line in code if f"%r{word}" in line or f"%rd{word}" in line}
        used |= {5 for line in code if "%rd4" in line}
        assert len(used) == need


def test_a_store_has_the_guard_of_the_write() -> None:
    assert text(WarpSlot(0).store(site(guard=GUARD))) == ["@%p0 st.volatile.shared.b32 [%r7], %r0"]
    assert text(WarpBase(0, (1,)).store(site(guard=GUARD)))[-1].startswith("@%p0 st")


def test_without_volatile_local_memory() -> None:
    names = Names({32: "%r"}, {}, "depot", "slots", volatile_local=False)
    assert text(LocalSlot(0).reload(site(names=names))) == ["ld.local.b32 %r0, [depot]"]


def test_factors_are_32_bit_constants_as_their_negatives_are() -> None:
    assert fits((1, -5, 2**31 - 1)) and not fits((-(2**31),)) and not fits((2**31,))


STATES = kernel("""
  mov.u32 %r0, 77;
  ld.param.u32 %r1, [n];
  mad.lo.u32 %r2, %i, 12, 5;
  mad.lo.u32 %r3, %i, 12, %r1;
  mul.lo.u32 %r4, %i, %i;
  mul.wide.u32 %d0, %r1, 4;
  mad.wide.u32 %d1, %i, 4, %d0;
  mov.u32 %r5, %tid.y;
  mad.lo.u32 %r6, %r5, 3, %r2;
  add.u32 %r7, %r0, %r1;
  add.u32 %r7, %r7, %r2;
  add.u32 %r7, %r7, %r3;
  add.u32 %r7, %r7, %r4;
  add.u32 %r7, %r7, %r6;
  st.global.u32 [%out], %r7;
  cvt.u32.u64 %r8, %d1;
  st.global.u32 [%out+4], %r8;
""")


@pytest.mark.parametrize("degree", [1, 2])
def test_states_of_values(degree: int) -> None:
    found = Kernel.of(read_module(STATES, "states.ptx"), "k", degree=degree).values
    kinds = {name: kind_of(value) for name, value in found.items()}
    assert kinds["%r0"] is Row.CONSTANT and kinds["%r1"] is Row.UNIFORM
    assert kinds["%r2"] is Row.AFFINE and kinds["%r3"] is Row.AFFINE_BASE
    assert kinds["%r4"] is Row.OTHER
    assert kinds["%d0"] is Row.UNIFORM and kinds["%d1"] is Row.AFFINE_BASE
    assert kinds["%r6"] is Row.AFFINE
    assert choose(found["%r6"], Policy.AFFINE).factors == (12, 3, 0)
    # A sum with T² is a sum with T², but no affine one.
    assert kinds["%r7$3"] is Row.OTHER


def test_policies_use_their_rows() -> None:
    values = Kernel.of(read_module(STATES, "states.ptx"), "k").values
    rows = {
        policy: [choose(values[name], policy).row for name in ("%r0", "%r1", "%r2", "%r3", "%r4")]
        for policy in (Policy.LOCAL, Policy.DIV, Policy.AFFINE)
    }
    assert rows[Policy.LOCAL] == [Row.OTHER] * 5
    assert rows[Policy.DIV] == [Row.UNIFORM, Row.UNIFORM, Row.OTHER, Row.OTHER, Row.OTHER]
    assert rows[Policy.AFFINE] == [Row.CONSTANT, Row.UNIFORM, Row.AFFINE, Row.AFFINE_BASE, Row.OTHER]


def test_ids_differ_in_the_warp_along_x_alone_where_rows_are_whole_warps() -> None:
    module = read_module(STATES, "states.ptx")
    along = Kernel.of(module, "k", block=(64, 2, 1)).values
    across = Kernel.of(module, "k", block=(16, 8, 1)).values
    assert kind_of(along["%r5"]) is Row.UNIFORM and kind_of(across["%r5"]) is Row.AFFINE


@pytest.mark.spread
@pytest.mark.parametrize("policy", ["local", "div", "affine", "hybrid", "auto"])
@pytest.mark.parametrize("allocator", ["linear", "chordal"])
def test_every_row_computes_the_same(policy: str, allocator: str) -> None:
    out = [np.zeros(2 * 64, np.uint32) for _ in range(2)]
    weft.ptx.Module(STATES).k[1, (16, 4)](out[0].view(np.uint8), 9)
    made = spill(STATES, 7, policy, block=(16, 4), allocator=allocator)
    assert made.kernels["k"].places and made.kernels["k"].pressure <= 7
    weft.ptx.Module(made.text).k[1, (16, 4)](out[1].view(np.uint8), 9)
    np.testing.assert_array_equal(out[0], out[1])
