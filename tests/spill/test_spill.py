"""`weft.ptx.spill` and ``weft spill``: text in, text out, errors, occupancy, remarks."""

import pytest

import weft
from spill.programs import SHARED_COUNTER, UNIFORM_COUNTER, kernel
from weft.cli import main
from weft.diag.errors import ArgumentError, PtxError, SettingError
from weft.ptx.check import check_module
from weft.ptx.flow import flow_of
from weft.ptx.reader import read_module
from weft.ptx.regalloc.intervals import pressure_of
from weft.ptx.regalloc.liveness import liveness_of
from weft.ptx.regalloc.places import LocalSlot, ThreadSlot
from weft.ptx.regalloc.sizes import register_words
from weft.spill.module import spill
from weft.spill.policies import Policy


def test_the_result_is_checked_and_fits(tmp_path) -> None:
    made = weft.ptx.spill(UNIFORM_COUNTER, 5)
    module = read_module(made.text, "out.ptx")
    check_module(module)
    function = module.function("k")
    assert pressure_of(liveness_of(flow_of(function)), register_words(function)).words <= 5


@pytest.mark.spread
@pytest.mark.parametrize("allocator", ["linear", "chordal"])
@pytest.mark.parametrize("policy", ["local", "div", "affine", "hybrid"])
def test_budgets_hold_down_to_what_an_instruction_needs(policy: str, allocator: str) -> None:
    text = UNIFORM_COUNTER.replace(
        "  add.u32 %r1, %r4", "  mad.wide.u32 %d3, %r1, %r0, %d7;\n  add.u32 %r1, %r4"
    )
    for registers in range(14, 5, -1):
        made = weft.ptx.spill(text, registers, policy, allocator=allocator, block=64)
        assert made.kernels["k"].pressure <= registers
    with pytest.raises(PtxError, match="there are"):
        weft.ptx.spill(text, 3, policy, allocator=allocator, block=64)


def test_without_a_register_for_addresses_shared_slots_are_given_up() -> None:
    made = weft.ptx.spill(UNIFORM_COUNTER, 4, "affine", block=64).kernels["k"]
    assert made.shared == 0 and made.places
    assert any("addresses of slots" in r.message for r in made.remarks)


def test_a_budget_that_an_instruction_exceeds_is_refused_at_its_place(tmp_path, capsys) -> None:
    file, out = tmp_path / "k.ptx", tmp_path / "out.ptx"
    file.write_text(UNIFORM_COUNTER)
    assert main(["spill", str(file), "--registers", "2", "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert f"{file}:" in said and "^" in said and "registers of 32 bits at once" in said
    assert not out.exists()


def test_bad_options() -> None:
    for options in (
        {"policy": "best"},
        {"allocator": "greedy"},
        {"block": 2048},
        {"degree": 3},
        {"farthest": "x"},
    ):
        with pytest.raises(SettingError):
            weft.ptx.spill(UNIFORM_COUNTER, 8, **options)
    with pytest.raises(ArgumentError, match="has no kernel f"):
        weft.ptx.spill(UNIFORM_COUNTER, 8, kernel="f")
    with pytest.raises(PtxError):
        weft.ptx.spill("nonsense\n", 8)


def test_the_command_writes_a_table(tmp_path, capsys) -> None:
    file, out = tmp_path / "k.ptx", tmp_path / "out.ptx"
    file.write_text(UNIFORM_COUNTER)
    arguments = ["spill", str(file), "--registers", "5", "--policy", "affine", "--block", "64", "--report"]
    assert main([*arguments, "-o", str(out)]) == 0
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.split()[:1] == ["%r0"])
    assert "(0,⊥)" in row and "shared, of the warp" in row and "behind bar.warp.sync" in row
    assert "not what was measured" in said
    check_module(read_module(out.read_text(), "out.ptx"))


def test_slots_that_cost_resident_warps_are_given_up() -> None:
    text = kernel("""
  .shared .align 16 .b8 room[65024];
  mov.u32 %r10, room;
  st.shared.u32 [%r10], %i;
""" + UNIFORM_COUNTER.partition("add.u64 %out, %out, %d7;")[2].rpartition("  ret;")[0])  # fmt: skip
    made = weft.ptx.spill(text, 6, "hybrid", block=1024, arch="sm_75").kernels["k"]
    assert made.after.warps == made.before.warps
    assert any(isinstance(p, LocalSlot) for p in made.places.values())
    assert any("resident" in r.message for r in made.remarks)
    free = weft.ptx.spill(UNIFORM_COUNTER, 6, "hybrid", block=64).kernels["k"]
    assert any(isinstance(p, ThreadSlot) for p in free.places.values())


def test_auto_says_that_it_gained_nothing() -> None:
    text = kernel("""
  ld.global.u32 %r0, [%out];
  ld.global.u32 %r1, [%out+4];
  add.u32 %r2, %r0, %r1;
  mul.lo.u32 %r3, %r0, %r1;
  xor.b32 %r4, %r0, %r1;
  add.u32 %r2, %r2, %r3;
  add.u32 %r2, %r2, %r4;
  add.u32 %r2, %r2, %r0;
  st.global.u32 [%out], %r2;
""")
    made = weft.ptx.spill(text, 5, "auto", block=1024, arch="sm_75").kernels["k"]
    assert made.policy in ("local", "affine", "div")
    assert made.pressure <= 5


def test_launches_of_more_threads_than_there_are_slots_for_are_ruled_out() -> None:
    made = weft.ptx.spill(UNIFORM_COUNTER, 5, "affine")
    assert ".maxntid 1024, 1, 1" in made.text
    assert ".reqntid 64, 1, 1" in weft.ptx.spill(UNIFORM_COUNTER, 5, "affine", block=64).text


def test_what_goes_on_behind_its_instruction_stays_in_registers() -> None:
    text = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .align 1 out)
{
  .reg .b32 %a<4>, %r<8>;
  .reg .b64 %d<4>;
  .reg .pred %p;
  ld.param.u64 %d0, [out];
  mov.u64 %d1, 0;
  mov.u64 %d2, 0;
  mov.u32 %a0, 0;
  mov.u32 %a1, 0;
  mov.u32 %a2, 0;
  mov.u32 %a3, 0;
  ld.global.u32 %r0, [%d0];
  ld.global.u32 %r1, [%d0+4];
  setp.eq.u32 %p, %r0, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%a0, %a1, %a2, %a3}, %d1, %d2, %p, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %r2, %r0, %r1;
  add.u32 %r2, %r2, %a0;
  add.u32 %r2, %r2, %a1;
  add.u32 %r2, %r2, %a2;
  add.u32 %r2, %r2, %a3;
  st.global.u32 [%d0], %r2;
  ret;
}
"""
    made = weft.ptx.spill(text, 11, "affine", block=128, allocator="chordal").kernels["k"]
    assert made.places and not {"%a0", "%a1", "%a2", "%a3"} & set(made.places)
    assert made.kernel.facts.unknown


@pytest.mark.parametrize("allocator", ["linear", "chordal"])
def test_guarded_writes_in_loops_need_no_more(allocator: str) -> None:
    text = UNIFORM_COUNTER.replace(
        "  add.u32 %r1, %r1, %r7;",
        "  @%p1 add.u32 %r1, %r1, %r7;\n  @!%p1 ld.global.u32 %r5, [%out];\n  add.u32 %r1, %r1, %r5;",
    )
    for registers in range(6, 12):
        made = weft.ptx.spill(text, registers, "local", allocator=allocator)
        assert made.kernels["k"].pressure <= registers


def test_auto_counts_on_the_cache_of_the_gpu_it_is_told(tmp_path, capsys) -> None:
    """All of local memory is in a cache of 48 KiB, and not in one of 16."""
    made = {
        device: next(
            iter(spill(SHARED_COUNTER, 5, "auto", arch="sm_20", block=256, device=device).kernels.values())
        )
        for device in (None, "gtx570", "gtx570-48k")
    }
    assert made[None].policy is made["gtx570"].policy is Policy.HYBRID
    assert made["gtx570-48k"].policy is Policy.LOCAL
    assert made["gtx570-48k"].kernel.arch.shared == 16 << 10
    with pytest.raises(SettingError, match="'gtx1' is no GPU of the model"):
        spill(SHARED_COUNTER, 5, device="gtx1")
    file = tmp_path / "k.ptx"
    file.write_text(SHARED_COUNTER)
    options = ["--registers", "5", "--arch", "sm_20", "--block", "256", "--device", "gtx570-48k", "--report"]
    assert main(["spill", str(file), *options]) == 0
    assert "what a model of gtx570-48k expects" in capsys.readouterr().err
