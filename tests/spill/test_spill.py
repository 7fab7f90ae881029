"""`weft.ptx.spill` and ``weft spill``: text in, text out, errors, occupancy, remarks."""

import pytest

import weft
from spill.programs import UNIFORM_COUNTER, kernel
from weft.cli import main
from weft.diag.errors import ArgumentError, PtxError, SettingError
from weft.ptx.check import check_module
from weft.ptx.flow import flow_of
from weft.ptx.reader import read_module
from weft.ptx.regalloc.intervals import pressure_of
from weft.ptx.regalloc.liveness import liveness_of
from weft.ptx.regalloc.places import LocalSlot, ThreadSlot
from weft.ptx.regalloc.sizes import register_words


def test_the_result_is_checked_and_fits(tmp_path) -> None:
    made = weft.ptx.spill(UNIFORM_COUNTER, 5)
    module = read_module(made.text, "out.ptx")
    check_module(module)
    function = module.function("k")
    assert pressure_of(liveness_of(flow_of(function)), register_words(function)).words <= 5


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
