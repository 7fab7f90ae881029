"""Votes on whether numbers are outside of a power of two ask for bits where masks have registers, and say the same."""

import numpy as np
import pytest

from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.transform.voted_bits import vote_by_bits

VOTE = """
define void @vote(ptr %numbers, ptr %masks, ptr %out) {{
entry:
  %n = load <{n} x i{k}>, ptr %numbers, align 1
  %m = load <{n} x i8>, ptr %masks, align 1
  %live = icmp ne <{n} x i8> %m, zeroinitializer
  {beyond}
  %frozen = freeze <{n} x i1> %some
  %far = select <{n} x i1> %live, <{n} x i1> %frozen, <{n} x i1> {otherwise}
  %voted = bitcast <{n} x i1> %far to i{n}
  %leave = icmp {predicate} i{n} %voted, {settled}
  {use}
  %bit = zext i1 %leave to i8
  store i8 %bit, ptr %out, align 1
  ret void
}}
"""
UNSIGNED = "%some = icmp ugt <{n} x i{k}> %n, splat (i{k} 1023)"
SIGNED = (
    "%a = icmp slt <{n} x i{k}> %n, splat (i{k} -1024)\n  %b = icmp sgt <{n} x i{k}> %n, splat (i{k} 1023)\n"
    "  %some = or <{n} x i1> %a, %b"
)


def vote(beyond: str, lanes: int = 64, bits: int = 32, **parts: str) -> Module:
    given = {"predicate": "ne", "settled": "0", "otherwise": "zeroinitializer", "use": ""} | parts
    made = {name: text.format(n=lanes, k=bits) for name, text in given.items()}
    module = read_module(VOTE.format(n=lanes, k=bits, beyond=beyond.format(n=lanes, k=bits), **made))
    verify(module)
    return module


def changed(module: Module, isa: Isa = AVX512) -> int:
    found = sum(vote_by_bits(function, isa) for function in module.definitions())
    verify(module)
    return found


def said(module: Module, lanes: int, bits: int) -> list[int]:
    """What the vote says of numbers that are all within, and of such of which one is not, on or off."""
    rng, found = np.random.default_rng(1), []
    for number in (0, 1023, 1024, -1024, -1025, 1 << (bits - 1), -1):
        for lane in (0, lanes // 2 + 1, lanes - 1):
            for on in (False, True):
                memory, out = Memory(), np.zeros(1, np.uint8)
                numbers, masks = rng.integers(0, 1024, lanes), rng.integers(0, 2, lanes).astype(np.uint8)
                numbers[lane], masks[lane] = number if number < 1 << (bits - 1) else -number, on
                numbers = numbers.astype(f"i{bits // 8}")
                arguments = [memory.map_array(a) for a in (numbers, masks, out)]
                run_function(Program(module), "vote", arguments, 1, memory=memory)
                found.append(int(out[0]))
    return found


@pytest.mark.parametrize("predicate", ["eq", "ne"])
@pytest.mark.parametrize("beyond", [UNSIGNED, SIGNED], ids=["unsigned", "signed"])
@pytest.mark.parametrize(("lanes", "bits"), [(64, 32), (32, 32), (16, 64)])
def test_vote_says_what_it_said(lanes: int, bits: int, beyond: str, predicate: str) -> None:
    module = vote(beyond, lanes, bits, predicate=predicate)
    wanted = said(module, lanes, bits)
    assert set(wanted) == {0, 1}
    assert changed(module) == 1
    each = 512 // bits
    assert f"bitcast <{each} x i1>" in write_module(module)
    assert said(module, lanes, bits) == wanted
    assert changed(module) == 0


OTHERS = {
    "no power of two": {"beyond": UNSIGNED.replace("1023", "1000")},
    "one register": {"beyond": UNSIGNED, "lanes": 16},
    "on where lanes are off": {"beyond": UNSIGNED, "otherwise": "splat (i1 true)"},
    "all lanes": {"beyond": UNSIGNED, "settled": "-1"},
    "order": {"beyond": UNSIGNED, "predicate": "ugt"},
    "blended by": {"beyond": UNSIGNED, "use": "%more = zext <{n} x i1> %far to <{n} x i{k}>"},
    "counted": {"beyond": UNSIGNED, "use": "%more = add i{n} %voted, 1"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_votes_stay(name: str) -> None:
    module = vote(**OTHERS[name])
    text = write_module(module)
    assert changed(module) == 0 and write_module(module) == text


@pytest.mark.parametrize("isa", [AVX2, SSE2])
def test_processors_without_registers_for_masks_stay(isa: Isa) -> None:
    assert changed(vote(UNSIGNED), isa) == 0
