"""Masks that loops carry are numbers where there are no registers for masks, and functions give what they gave."""

import numpy as np
import pytest

import weft
from codegen.kernels import agree, guarded, kernel_text, stored
from codegen.machine_code import ISAS
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.transform.wide_masks import widen_masks

#   entry ──▶ loop ◀─┐     lanes count until they are at their own number; what they have then is kept
#              │ └───┘
#              ▼
#             done
COUNTED = """
define void @counted(ptr %numbers, ptr %out) {{
entry:
  %limit = load <{n} x i{k}>, ptr %numbers, align 1
  br label %loop
loop:
  %live = phi <{n} x i1> [ splat (i1 true), %entry ], [ %next, %loop ]
  %i = phi <{n} x i{k}> [ zeroinitializer, %entry ], [ %more, %loop ]
  %kept = phi <{n} x i{k}> [ zeroinitializer, %entry ], [ %keeps, %loop ]
  %more = add <{n} x i{k}> %i, splat (i{k} 1)
  %below = icmp ult <{n} x i{k}> %more, %limit
  %keeps = select <{n} x i1> %live, <{n} x i{k}> %more, <{n} x i{k}> %kept
  {next}
  %bits = bitcast <{n} x i1> %next to i{n}
  %none = icmp eq i{n} %bits, 0
  br i1 %none, label %done, label %loop
done:
  store <{n} x i{k}> %keeps, ptr %out, align 1
  ret void
}}
"""
NEXT = "%next = select <{n} x i1> %live, <{n} x i1> %below, <{n} x i1> zeroinitializer"
AGAIN = "%b = select <{n} x i1> %live, <{n} x i1> %below, <{n} x i1> splat (i1 false)\n  " + NEXT.replace(
    "%below", "%b"
)
ANDED = "%next = and <{n} x i1> %live, %below"
# A lane that is off shifts too far.
POISON = (
    "%step = select <{n} x i1> %live, <{n} x i{k}> splat (i{k} 1), <{n} x i{k}> splat (i{k} 200)\n"
    "  %far = shl <{n} x i{k}> splat (i{k} 1), %step\n  %some = icmp ne <{n} x i{k}> %far, zeroinitializer\n"
    "  %c = and <{n} x i1> %below, %some\n  " + NEXT.replace("%below", "%c")
)


def counted(lanes: int, bits: int, next: str = NEXT) -> Module:
    module = read_module(COUNTED.format(n=lanes, k=bits, next=next.format(n=lanes, k=bits)))
    verify(module)
    return module


def what_is_left(module: Module, lanes: int, bits: int) -> list[int]:
    memory, out = Memory(), np.zeros(lanes, f"u{bits // 8}")
    limits = np.random.default_rng(1).integers(0, 9, lanes).astype(out.dtype)
    arguments = [memory.map_array(limits), memory.map_array(out)]
    run_function(Program(module), "counted", arguments, 1, memory=memory)
    return out.tolist()


def widened(module: Module, isa: Isa) -> int:
    found = sum(widen_masks(function, isa) for function in list(module.definitions()))
    verify(module)
    return found


@pytest.mark.parametrize("next", [NEXT, AGAIN, ANDED, POISON], ids=["select", "again", "and", "poison"])
@pytest.mark.parametrize(
    ("lanes", "bits", "isa"), [(8, 32, AVX2), (16, 64, AVX2), (4, 32, SSE2), (2, 64, SSE2)]
)
def test_mask_becomes_numbers(lanes, bits, isa, next):
    module = counted(lanes, bits, next)
    wanted = what_is_left(module, lanes, bits)
    assert widened(module, isa) == 1
    text = write_module(module)
    assert f"phi <{lanes} x i1>" not in text
    assert f"phi <{lanes} x i{bits}>" in text
    assert what_is_left(module, lanes, bits) == wanted


def test_whether_a_lane_is_on_is_asked_of_the_numbers():
    module = counted(16, 32)
    widened(module, AVX2)
    text = write_module(module)
    assert "llvm.vector.reduce.or.v16i32" in text and "bitcast" not in text


VOTE = """%some = icmp ugt <{n} x i{k}> %more, splat (i{k} 3)
  %far = select <{n} x i1> %live, <{n} x i1> %some, <{n} x i1> zeroinitializer
  %voted = bitcast <{n} x i1> %far to i{n}
  %leave = icmp ne i{n} %voted, 0
  br i1 %leave, label %done, label %rest
rest:
  """


BEYOND = {
    "unsigned power of two": "%some = icmp ugt <{n} x i{k}> %more, splat (i{k} 3)",
    "unsigned": "%some = icmp ugt <{n} x i{k}> %more, splat (i{k} 4)",
    "signed power of two": "%a = icmp slt <{n} x i{k}> %more, splat (i{k} -4)\n"
    "  %b = icmp sgt <{n} x i{k}> %more, splat (i{k} 3)\n  %some = or <{n} x i1> %a, %b",
}


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("votes_only", [True, False])
def test_what_lanes_that_are_on_vote_is_asked_of_the_numbers(votes_only, beyond):
    """Here of whether one has counted beyond 3 or 4, which they leave together for."""
    text = COUNTED.replace("{next}", VOTE + NEXT).replace(BEYOND["unsigned power of two"], BEYOND[beyond])
    for line in ("%live = phi", "%i = phi", "%kept = phi"):
        head, rest = text.split(line, 1)
        text = head + line + rest.replace("%loop ]", "%rest ]", 1)
    text = text.replace(
        "done:\n", "done:\n  %left = phi <{n} x i{k}> [ %keeps, %loop ], [ %keeps, %rest ]\n"
    ).replace("store <{n} x i{k}> %keeps", "store <{n} x i{k}> %left")
    if not votes_only:
        # Lanes are blended by it, too.
        text = text.replace(
            "%leave = icmp", "%blended = zext <{n} x i1> %far to <{n} x i{k}>\n  %leave = icmp"
        )
    module = read_module(text.format(n=16, k=32))
    verify(module)
    wanted = what_is_left(module, 16, 32)
    assert widened(module, AVX2) == 1
    assert ("bitcast" not in write_module(module)) == votes_only
    # A number that is on has the bits that are asked.
    assert ("and <16 x i32>" in write_module(module)) == (votes_only and "power" in beyond)
    assert what_is_left(module, 16, 32) == wanted


@pytest.mark.parametrize(
    ("lanes", "bits", "isa"),
    [(16, 32, AVX512), (32, 8, AVX2), (16, 16, AVX2), (32, 64, AVX2), (16, 64, SSE2)],
    ids=["registers-for-masks", "bytes", "words", "eight-registers", "eight-of-sse"],
)
def test_other_masks_stay(lanes, bits, isa):
    assert widened(counted(lanes, bits), isa) == 0


@pytest.mark.parametrize(("lanes", "bits", "isa"), [(64, 32, AVX2), (64, 8, AVX2), (32, 32, SSE2)])
def test_masks_of_more_lanes_than_bytes_become_bytes(lanes, bits, isa):
    """LLVM has no vectors for these, and would carry each lane by itself."""
    module = counted(lanes, bits)
    wanted = what_is_left(module, lanes, bits)
    assert widened(module, isa) == 1
    assert f"phi <{lanes} x i1>" not in write_module(module)
    assert what_is_left(module, lanes, bits) == wanted


def test_masks_that_meet_behind_a_branch_become_bytes():
    module = read_module("""
define void @meet(i1 %way, <64 x i8> %a, <64 x i8> %b, ptr %out) {
entry:
  %some = icmp ult <64 x i8> %a, %b
  br i1 %way, label %other, label %done
other:
  %most = icmp ne <64 x i8> %a, %b
  br label %done
done:
  %mask = phi <64 x i1> [ %some, %entry ], [ %most, %other ]
  %kept = select <64 x i1> %mask, <64 x i8> %a, <64 x i8> %b
  store <64 x i8> %kept, ptr %out, align 1
  ret void
}
""")
    assert widened(module, AVX512) == 0
    assert widened(module, AVX2) == 1
    assert "phi <64 x i8>" in write_module(module)


def test_a_mask_that_arrives_by_two_ways_is_extended_on_each():
    module = read_module("""
define void @arrive(i1 %way, i1 %again, <64 x i8> %a, <64 x i8> %b, ptr %out) {
entry:
  %some = icmp ult <64 x i8> %a, %b
  br i1 %way, label %one, label %other
one:
  br label %done
other:
  br i1 %again, label %last, label %done
last:
  br label %done
done:
  %mask = phi <64 x i1> [ %some, %one ], [ %some, %other ], [ zeroinitializer, %last ]
  %kept = select <64 x i1> %mask, <64 x i8> %a, <64 x i8> %b
  store <64 x i8> %kept, ptr %out, align 1
  ret void
}
""")
    assert widened(module, AVX2) == 1


def test_mask_of_which_only_others_are_made_stays():
    """Nothing is blended by it where it would have to be unpacked."""
    module = read_module("""
define i1 @none(<8 x i1> %a) {
entry:
  br label %loop
loop:
  %live = phi <8 x i1> [ %a, %entry ], [ %next, %loop ]
  %next = and <8 x i1> %live, %a
  %bits = bitcast <8 x i1> %next to i8
  %stop = icmp ne i8 %bits, 0
  br i1 %stop, label %done, label %loop
done:
  ret i1 %stop
}
""")
    assert widened(module, AVX2) == 0


STEPS = """  %p = getelementptr i32, ptr %in, i64 %tid
  %first = load i32, ptr %p
  br label %loop
loop:
  %x = phi i32 [ %first, {before} ], [ %y, %loop ]
  %k = phi i32 [ 0, {before} ], [ %l, %loop ]
  %half = lshr i32 %x, 1
  %o = and i32 %x, 1
  %odd = icmp ne i32 %o, 0
  %plus = add i32 %half, 1
  %y = select i1 %odd, i32 %plus, i32 %half
  %l = add i32 %k, 1
  %far = icmp ugt i32 %y, 3
  br i1 %far, label %loop, label %behind
behind:
  %s = mul i32 %y, 100
  %r = add i32 %s, %l
"""


@pytest.mark.spread
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("width", [4, 16, 32])
def test_machine_code_does_what_the_interpreter_does(width, isa):
    agree(kernel_text(STEPS.format(before="%entry") + stored("%r")), width, isa)
    agree(kernel_text(guarded(STEPS.format(before="%then") + stored("%r"))), width, isa)


def escapes(values, steps):
    for i in prange(values.size):
        x, k = values[i], 0
        while x < 50 and k < 40:
            y = x
            while y > 7:
                y = y / 3
            x = x * 1.3 + y * 0.01
            k += 1
        steps[i] = k


def escaping(values, steps):
    i = cuda.grid(1)
    if i < values.size:
        x, k = values[i], 0
        while x < 50 and k < 40:
            y = x
            while y > 7:
                y = y / 3
            x = x * 1.3 + y * 0.01
            k += 1
        steps[i] = k


@pytest.mark.parametrize("type", [np.float32, np.float64])
def test_loops_in_loops(type):
    """Masks that come from masks, of floats and doubles, as loop and as kernel."""
    values = np.random.default_rng(2).uniform(0, 60, 77).astype(type)
    wanted, loop, kernel = (np.zeros(77, np.int32) for _ in range(3))
    escapes(values, wanted)
    for without in ((), ("wide-masks",)):
        weft.jit(escapes, without=without, width=8)(values, loop)
        cuda.jit(escaping, without=without, width=8)[3, 32](values, kernel)
        np.testing.assert_array_equal(loop, kernel)
        if type is np.float64:
            np.testing.assert_array_equal(loop, wanted)
