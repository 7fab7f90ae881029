"""With registers for masks, votes join these, and other votes are what they were.

What functions give is looked at in `target.test_joined_votes`.
"""

import re

import pytest

from target.rewrites.test_joined_votes import ANY, BOTH, EACH, MANY, MASKS, asked, program
from weft.machine.targets import AVX2, AVX512
from weft.target.machine import TargetSpec, emit_assembly
from weft.target.passes import FINAL
from weft.target.rewrites.register_votes import with_register_votes

PUT_TOGETHER = re.compile(r"kunpck|kshift")


def assembly(text: str) -> str:
    return emit_assembly(text, TargetSpec.of_isa(AVX512), FINAL)


@pytest.mark.parametrize(("lanes", "type"), [(32, "float"), (64, "i32"), (32, "double"), (16, "i64")])
@pytest.mark.parametrize("mask", list(MASKS))
def test_registers_are_joined(mask: str, lanes: int, type: str) -> None:
    for vote in (ANY, EACH, MANY, BOTH):
        made = assembly(program(lanes, type, MASKS[mask], vote))
        assert not PUT_TOGETHER.search(made), (vote, made)
    assert "kortest" in assembly(program(lanes, type, MASKS[mask], ANY))


@pytest.mark.parametrize("mask", list(MASKS))
def test_what_is_made_can_be_made_anew(mask: str) -> None:
    made = asked(asked(program(32, "float", MASKS[mask], BOTH), AVX512), AVX512)
    assert not PUT_TOGETHER.search(assembly(made))


@pytest.mark.parametrize(
    ("lanes", "type", "mask", "some"),
    [
        (16, "float", "alone", ""),
        (64, "i8", "alone", ""),
        (32, "float", "and", "store i32 %bits, ptr %others, align 4"),
        (32, "float", "frozen", "%c = select <32 x i1> %m, <32 x float> %x, <32 x float> %y\n"
            "  store <32 x float> %c, ptr %others"),
    ],
    ids=["one-register", "one-register-of-bytes", "bits-are-kept", "frozen-mask-is-kept"],
)  # fmt: skip
def test_other_votes_stay(lanes: int, type: str, mask: str, some: str) -> None:
    assert with_register_votes(program(lanes, type, MASKS[mask], ANY, some), AVX512) is None


def test_masks_of_two_widths_stay() -> None:
    wide = "%d = fpext <32 x float> %x to <32 x double>\n  %w = fcmp olt <32 x double> %d, splat (double 0.1)\n  "
    text = program(32, "float", wide + "%m = and <32 x i1> %p, %w", ANY)
    assert with_register_votes(text, AVX512) is None


def test_masks_of_other_blocks_stay() -> None:
    text = program(32, "float", MASKS["frozen"], ANY)
    elsewhere = text.replace("  %bits =", "  br label %there\nthere:\n  %bits =")
    assert with_register_votes(text, AVX512) is not None
    assert with_register_votes(elsewhere, AVX512) is None


def test_without_registers_for_masks_votes_stay() -> None:
    assert with_register_votes(program(32, "float", MASKS["frozen"], ANY), AVX2) is None


def test_masks_of_very_many_comparisons_stay() -> None:
    joined = "".join(f"%m{k + 1} = xor <32 x i1> %m{k}, %p\n  " for k in range(2000))
    made = f"%m0 = and <32 x i1> %p, %q\n  {joined}%m = and <32 x i1> %m2000, %q"
    assert with_register_votes(program(32, "float", made, ANY), AVX512) is None
