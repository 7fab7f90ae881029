"""Kernels in PTX under the model: instructions and accesses are those of the text, spilled values included."""

from dataclasses import replace

import numpy as np

import weft
from weft.machine import gpu_devices
from weft.machine.gpu_devices import DEVICES, Unit
from weft.simt.places import Space

SPILLING = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
  .local .align 4 .b8 depot[8];
  .shared .align 4 .b8 slots[128];
  .reg .u64 %rd<3>;
  .reg .u32 %r<4>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd0, [k_param_0];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  ld.global.f32 %f0, [%rd2];
  st.SPACE.f32 [PLACE], %f0;
  add.rn.f32 %f1, %f0, 0f3F800000;
  ld.SPACE.f32 %f2, [PLACE];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd2], %f3;
  ret;
}
"""


def run(space, place, monkeypatch):
    plain = replace(
        DEVICES["gtx570"],
        name="plain", issue=100.0, interval=1, cycles=dict.fromkeys(Unit, 0.001), latency=dict.fromkeys(Unit, 10.0),
        shared_latency=20, hit_latency=20, memory_latency=100, transaction=1, bandwidth=1e9, multiprocessors=1,
    )  # fmt: skip
    monkeypatch.setitem(gpu_devices.DEVICES, "plain", plain)
    module = weft.ptx.Module(SPILLING.replace("SPACE", space).replace("PLACE", place))
    x = np.arange(32, dtype=np.float32)
    found = module.k.simulate(1, 32, x, device="plain", registers=8)
    return found, x


def test_instructions_and_spills_of_the_text_are_counted(monkeypatch):
    found, x = run("local", "depot", monkeypatch)
    assert (x == 2 * np.arange(32) + 1).all()
    # mov, mul.wide, add of 64 bits (two), ld, st, add, ld, add, st, ret; the parameter is free.
    assert found.issued == 11
    assert found.total(Space.LOCAL, "store").requests == found.total(Space.LOCAL, "load").requests == 1
    assert found.total(Space.LOCAL).transactions == 8 and found.total(Space.LOCAL, "load").hits == 4
    assert found.total(Space.GLOBAL).transactions == 8
    # mov to 10, mul.wide to 20, add to 40, ld to 140, st at 140, add at 141; ld at 142 to 162, add at 162 to 172.
    assert found.cycles == 172 + 2


def test_spills_to_shared_memory(monkeypatch):
    found, x = run("shared", "slots", monkeypatch)
    # All threads write to one place, and the last one wins.
    assert (x == np.arange(32) + 1 + 31).all()
    assert found.total(Space.SHARED, "load").transactions == 1 and found.total(Space.LOCAL).requests == 0
