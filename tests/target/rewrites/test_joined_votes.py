"""Votes of several registers are asked together, and functions give what they gave."""

import ctypes

import numpy as np
import pytest

from pairs import in_turn, pairs
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.joined_votes import with_joined_votes

VOTE = """
define void @f(ptr %values, ptr %limits, ptr %others, ptr %result) {{
entry:
  %x = load <{n} x {t}>, ptr %values, align 8
  %y = load <{n} x {t}>, ptr %limits, align 8
  %z = load <{n} x {t}>, ptr %others, align 8
  %p = {cmp} <{n} x {t}> %x, %y
  %q = {cmp} <{n} x {t}> %y, %z
  %r = {cmp} <{n} x {t}> %z, %x
  {mask}
  %bits = bitcast <{n} x i1> %m to i{n}
  {vote}
  br i1 %yes, label %some, label %none
some:
  store i32 1, ptr %result, align 4
  {some}
  ret void
none:
  store i32 2, ptr %result, align 4
  ret void
}}
declare i{n} @llvm.ctpop.i{n}(i{n})
"""
ANY = "%yes = icmp ne i{n} %bits, 0"
NONE = "%yes = icmp eq i{n} %bits, 0"
EACH = "%yes = icmp eq i{n} %bits, -1"
MANY = "%count = call i{n} @llvm.ctpop.i{n}(i{n} %bits)\n  %yes = icmp ugt i{n} %count, 3"
BOTH = "%one = icmp ne i{n} %bits, 0\n  " + MANY.replace("%yes", "%two") + "\n  %yes = xor i1 %one, %two"
NO, ALL = "<{n} x i1> zeroinitializer", "<{n} x i1> splat (i1 true)"
MASKS = {
    "alone": "%m = select <{n} x i1> %p, <{n} x i1> splat (i1 true), " + NO,
    "frozen": "%m = freeze <{n} x i1> %p",
    "not": "%m = xor <{n} x i1> %p, splat (i1 true)",
    "and": "%m = and <{n} x i1> %p, %q",
    "or": "%m = or <{n} x i1> %p, %q",
    "chosen": "%m = select <{n} x i1> %p, <{n} x i1> %q, " + NO,
    "either": "%m = select <{n} x i1> %p, " + ALL + ", <{n} x i1> %q",
    "three": "%m.1 = select <{n} x i1> %p, <{n} x i1> %q, "
    + NO
    + "\n  %not = xor <{n} x i1> %r, splat (i1 true)"
    "\n  %m = select <{n} x i1> %m.1, <{n} x i1> %not, " + NO,
}
COMPARED = {
    "float": "fcmp fast olt",
    "double": "fcmp olt",
    "i32": "icmp slt",
    "i64": "icmp slt",
    "i8": "icmp slt",
}
TYPES = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8}


def program(lanes: int, type: str, mask: str, vote: str, some: str = "") -> str:
    fill = {"n": lanes, "t": type}
    parts = {"mask": mask, "vote": vote, "some": some}
    return VOTE.format(
        cmp=COMPARED[type], **fill, **{name: text.format(**fill) for name, text in parts.items()}
    )


def answer(p: np.ndarray, q: np.ndarray, r: np.ndarray, mask: str, vote: str) -> int:
    m = {
        "alone": p, "frozen": p, "not": ~p, "and": p & q, "or": p | q, "chosen": p & q, "either": p | q,
        "three": p & q & ~r,
    }[mask]  # fmt: skip
    some, many = bool(m.any()), int(m.sum()) > 3
    return 1 if {ANY: some, NONE: not some, EACH: bool(m.all()), MANY: many, BOTH: some ^ many}[vote] else 2


@pytest.mark.parametrize(
    ("isa", "type", "lanes"),
    pairs([SSE2, AVX2, AVX512], list(TYPES), [8, 16, 32, 64]),
    ids=lambda value: getattr(value, "name", value),
)
def test_votes_are_what_they_were(isa: Isa, type: str, lanes: int) -> None:
    if not isa.features <= chosen().features:
        pytest.skip(f"the processor has no {isa.name}")
    spec, rng = TargetSpec.of_isa(isa), np.random.default_rng(lanes)
    for number, (name, mask) in enumerate(MASKS.items()):
        for vote in in_turn((NONE, EACH, BOTH), number + lanes.bit_length(), 3):
            text = program(lanes, type, mask, vote)
            code = load_object(emit_object(text, spec, FINAL), ["f"])
            function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address("f"))
            for few in (0, 1, 3, 4, 9, lanes):
                values, limits, others = (rng.integers(0, 100, lanes).astype(TYPES[type]) for _ in range(3))
                # Few lanes are less than their limits, which are less than the others.
                values += TYPES[type](20)
                less = rng.permutation(lanes)[:few]
                limits[:] = 0
                limits[less] = values[less] + TYPES[type](1)
                others[less] = TYPES[type](127)
                result = np.zeros(1, np.int32)
                function(*(a.ctypes.data for a in (values, limits, others, result)))
                wanted = answer(values < limits, limits < others, others < values, name, vote)
                assert result[0] == wanted, (name, vote, few)


def asked(text: str, isa: Isa = AVX2) -> str:
    return optimized(text, TargetSpec.of_isa(isa), FINAL)


@pytest.mark.parametrize("mask", list(MASKS))
def test_registers_are_joined(mask: str) -> None:
    for isa in (SSE2, AVX2):
        made = asked(program(32, "float", MASKS[mask], ANY), isa)
        assert "@llvm.vector.reduce.or.v32i32(" in made
        made = asked(program(32, "float", MASKS[mask], EACH), isa)
        # LLVM asks for most masks whether some lane says no.
        assert f"@llvm.vector.reduce.{'and' if mask == 'frozen' else 'or'}.v32i32(" in made
    made = asked(program(32, "float", MASKS[mask], MANY))
    assert "@llvm.x86.avx2.packsswb(" in made and "call i32 @llvm.x86.avx2.pmovmskb(" in made
    assert with_joined_votes(made, AVX2) is None


@pytest.mark.parametrize("mask", list(MASKS))
def test_what_is_made_can_be_made_anew(mask: str) -> None:
    made = asked(asked(program(32, "float", MASKS[mask], BOTH)))
    assert "@llvm.vector.reduce.or.v32i32(" in made and "@llvm.x86.avx2.packsswb(" in made


def test_a_frozen_comparison_is_of_frozen_numbers() -> None:
    made = asked(program(32, "float", MASKS["frozen"], ANY))
    assert "freeze <32 x i1>" not in made and made.count("freeze <32 x float>") == 2 and "fcmp olt" in made


@pytest.mark.parametrize(
    ("lanes", "type", "mask", "some", "isa"),
    [
        (8, "float", "frozen", "", AVX2),
        (32, "float", "frozen", "", AVX512),
        (32, "float", "frozen", "", NEON),
        (32, "float", "and", "store i32 %bits, ptr %others, align 4", AVX2),
        (32, "float", "and", "%c = select <32 x i1> %m, <32 x float> %x, <32 x float> %y\n"
            "  store <32 x float> %c, ptr %others", AVX2),
    ],
    ids=["one-register", "mask-registers", "no-x86", "bits-are-kept", "packed-anyway"],
)  # fmt: skip
def test_other_votes_stay(lanes: int, type: str, mask: str, some: str, isa: Isa) -> None:
    text = program(lanes, type, MASKS[mask], ANY, some)
    assert with_joined_votes(text, isa) is None


def test_masks_of_two_widths_stay() -> None:
    wide = "%d = fpext <32 x float> %x to <32 x double>\n  %w = fcmp olt <32 x double> %d, splat (double 0.1)\n  "
    text = program(32, "float", wide + "%m = and <32 x i1> %p, %w", ANY)
    assert with_joined_votes(text, AVX2) is None
