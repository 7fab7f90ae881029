"""Registers that mean several things get a name for each."""

from weft.ptx.reader import read_module
from weft.ptx.regalloc.webs import renamed_webs
from weft.ptx.registers import reads, writes


def accesses(body: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    text = f""".version 8.5
.target sm_90a
.address_size 64
.visible .entry k()
{{
  .reg .b32 %a, %b, %c, %d;
  .reg .b64 %x;
  .reg .pred %p;
{body}
}}
"""
    function = renamed_webs(read_module(text, "webs.ptx").function("k"))
    return [(reads(i), writes(i)) for i in function.instructions()]


def test_definitions_that_meet_in_no_read_are_apart() -> None:
    found = accesses("mov.u32 %a, 1; add.u32 %b, %a, 1; mov.u32 %a, 2; add.u32 %c, %a, %b;")
    first, second = found[0][1], found[2][1]
    assert first != second and found[1][0] == first and found[3][0][0] == second[0]


def test_definitions_that_meet_are_one() -> None:
    found = accesses("setp.eq.u32 %p, %b, 0; mov.u32 %a, 1; @%p bra L; mov.u32 %a, 2; L: add.u32 %c, %a, 1;")
    assert found[1][1] == found[3][1] == found[4][0]


def test_a_guarded_write_keeps_the_value_before() -> None:
    found = accesses("setp.eq.u32 %p, %b, 0; mov.u32 %a, 1; @%p mov.u32 %a, 2; add.u32 %c, %a, 1;")
    assert found[1][1] == found[2][1] == found[3][0]


def test_an_accumulator_is_read_and_written_under_one_name() -> None:
    found = accesses(
        "mov.u32 %a, 0; mov.u32 %b, 0; mov.u32 %c, 0; mov.u32 %d, 0; mov.u64 %x, 0; setp.eq.u32 %p, %a, 0;"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%a, %b, %c, %d}, %x, %x, %p, 1, 1, 0, 0;"
        "add.u32 %a, %a, %b;"
    )
    assert found[0][1] == ("%a",) and found[6][1] == ("%a", "%b", "%c", "%d")
    assert set(found[6][1]) <= set(found[6][0]) and found[7][1] == ("%a$1",)


def test_what_is_never_reached_is_gone() -> None:
    assert len(accesses("mov.u32 %a, 1; bra L; mov.u32 %b, %a; L: mov.u32 %c, %a;")) == 3
