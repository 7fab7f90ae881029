"""Inverse roots of floats whose -0.5 is multiplied behind sums: where, and that sums stay what they are."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import ConstFloat, ConstSplat, Function, Instruction, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.transform.numbers.scaled_roots import scale_roots

ROUNDS = 6

LOOP = """
define void @f(ptr %xs, ptr %ys, ptr %out) {{
entry:
  %first = load <{n} x float>, ptr %out, align 4
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %s = phi <{n} x float> [ {start}, %entry ], [ %more, %join ]
  %at.x = getelementptr <{n} x float>, ptr %xs, i64 %i
  %at.y = getelementptr <{n} x float>, ptr %ys, i64 %i
  %x = load <{n} x float>, ptr %at.x, align 4
  %y = load <{n} x float>, ptr %at.y, align 4
  %root = call {flags} <{n} x float> @llvm.sqrt.v{n}f32(<{n} x float> %y)
{body}
  br label %join
join:
  %next = add i64 %i, 1
  %more.rounds = icmp slt i64 %next, 6
  br i1 %more.rounds, label %head, label %done
done:
  %sum = phi <{n} x float> [ %more, %join ]
  store <{n} x float> %sum, ptr %out, align 4
  ret void
}}
declare <{n} x float> @llvm.sqrt.v{n}f32(<{n} x float>) nounwind willreturn memory(none)
declare <{n} x float> @llvm.fma.v{n}f32(<{n} x float>, <{n} x float>, <{n} x float>) nounwind willreturn memory(none)
"""

QUOTIENT = "  %q = fdiv {flags} <{n} x float> splat (float 1.0), %root\n"
SQUARE = QUOTIENT + "  %qq = fmul {flags} <{n} x float> %q, %q\n"
CUBE = SQUARE + "  %c = fmul {flags} <{n} x float> %qq, %q\n  %p = fmul {flags} <{n} x float> %c, %x\n"
SUM = "  %more = fadd {flags} <{n} x float> %s, %p"

BODIES = {
    "cube": CUBE + SUM,
    "difference": CUBE + "  %more = fsub {flags} <{n} x float> %s, %p",
    "fused": SQUARE
    + "  %more = call {flags} <{n} x float> @llvm.fma.v{n}f32(<{n} x float> %qq, <{n} x float> %x, <{n} x float> %s)",
    "masked": CUBE
    + "  %all = fadd {flags} <{n} x float> %s, %p\n"
    + "  %m = fcmp ogt <{n} x float> %y, splat (float 1.0)\n"
    + "  %more = select <{n} x i1> %m, <{n} x float> %all, <{n} x float> %s",
    "power": "  %d = fmul {flags} <{n} x float> %y, %root\n"
    + "  %p = fdiv {flags} <{n} x float> %x, %d\n"
    + SUM,
    "negative": QUOTIENT + "  %p = fneg <{n} x float> %q\n" + SUM,
}

WANTED = {
    "cube": lambda x, y: x * y**-1.5,
    "difference": lambda x, y: -x * y**-1.5,
    "fused": lambda x, y: x / y,
    "masked": lambda x, y: np.where(y > 1, x * y**-1.5, 0),
    "power": lambda x, y: x * y**-1.5,
    "negative": lambda x, y: -(y**-0.5),
}


def loop(
    body: str, lanes: int = 8, start: str = "zeroinitializer", flags: str = "fast"
) -> tuple[Module, Function]:
    text = LOOP.replace("{body}", body).format(n=lanes, flags=flags, start=start)
    module = read_module(text)
    verify(module)
    return module, module.functions["f"]


def in_loop(function: Function, op: str) -> list[Instruction]:
    return [
        i
        for block in function.blocks
        if block.name in ("head", "join")
        for i in block.instructions
        if i.op == op
    ]


def takes_estimates(function: Function) -> bool:
    names = [i.callee_name or "" for i in function.instructions()]
    assert any("rsqrt" in name for name in names) != any("sqrt.v" in name for name in names)
    return any("rsqrt" in name for name in names)


def right(module: Module, lanes: int, wanted: Callable[..., np.ndarray], first: float = 0) -> None:
    rng = np.random.default_rng(lanes)
    x = rng.normal(size=(ROUNDS, lanes)).astype(np.float32)
    y = np.exp2(rng.uniform(-20, 20, (ROUNDS, lanes))).astype(np.float32)
    out = np.full(lanes, 3, np.float32)
    memory = Memory()
    arguments = [memory.map_array(a) for a in (x, y, out)]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    terms = wanted(x.astype(float), y.astype(float))
    near = np.abs(out - (first + terms.sum(axis=0)))
    assert np.all(near <= 4e-6 * (abs(first) + np.abs(terms).sum(axis=0)))


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize("body", BODIES)
def test_sums(body: str, lanes: int, isa: Isa) -> None:
    module, function = loop(BODIES[body], lanes)
    assert scale_roots(function, isa) == 1
    verify(module)
    assert takes_estimates(function) and not in_loop(function, "fdiv")
    right(module, lanes, WANTED[body])


@pytest.mark.parametrize("body", BODIES)
def test_sums_that_begin_with_something(body: str) -> None:
    module, function = loop(BODIES[body], start="%first")
    assert scale_roots(function, AVX2) == 1
    verify(module)
    right(module, 8, WANTED[body], 3)


def test_the_factor_is_behind_the_loop() -> None:
    module, function = loop(BODIES["cube"])
    products = len(in_loop(function, "fmul"))
    assert scale_roots(function, AVX2) == 1
    # What refines the estimate, without the factor.
    assert len(in_loop(function, "fmul")) == products + 3
    (factor,) = [i for i in function.blocks[-1].instructions if i.op == "fmul"]
    assert isinstance(factor.operands[1], ConstSplat) and isinstance(factor.operands[1].element, ConstFloat)
    assert factor.operands[1].element.value == -0.125
    verify(module)


@pytest.mark.parametrize(
    ("body", "flags", "isa"),
    [
        # The inverse root is stored in each round: a multiplication is left for one that is saved.
        (
            QUOTIENT
            + "  store <{n} x float> %q, ptr %at.x, align 4\n  %p = fadd {flags} <{n} x float> %q, %x\n"
            + SUM,
            "fast",
            AVX2,
        ),
        (CUBE + SUM, "nnan ninf", AVX2),
        (CUBE + SUM, "fast", NEON),
        # The root itself is wanted, too.
        (CUBE.replace("%x\n", "%root\n") + SUM, "fast", AVX2),
    ],
    ids=["stored", "flags", "neon", "root"],
)
def test_others_stay(body: str, flags: str, isa: Isa) -> None:
    _, function = loop(body, flags=flags)
    assert scale_roots(function, isa) == 0
    assert not takes_estimates(function)


def test_what_is_beyond_floats_stays() -> None:
    powers = "".join(f"  %p{k} = fmul {{flags}} <{{n}} x float> %p{k - 1}, %q\n" for k in range(1, 12))
    body = QUOTIENT + "  %p0 = fmul {flags} <{n} x float> %q, %x\n" + powers
    _, function = loop(body + SUM.replace("%p", "%p11"))
    assert scale_roots(function, AVX2) == 0


def test_sums_of_other_powers_are_parted() -> None:
    """A sum of terms with one root and with three: one of both is multiplied for each round, which saves nothing."""
    body = CUBE + "  %u = fadd {flags} <{n} x float> %s, %p\n  %more = fadd {flags} <{n} x float> %u, %q"
    module, function = loop(body)
    scale_roots(function, AVX2)
    verify(module)
    right(module, 8, lambda x, y: x * y**-1.5 + y**-0.5)


def test_a_root_of_what_is_scaled_takes_the_number_itself() -> None:
    body = (
        QUOTIENT
        + "  %outer = call {flags} <{n} x float> @llvm.sqrt.v{n}f32(<{n} x float> %q)\n"
        + "  %r = fdiv {flags} <{n} x float> splat (float 1.0), %outer\n"
        + "  %p = fadd {flags} <{n} x float> %q, %r\n"
    )
    module, function = loop(body + SUM)
    assert scale_roots(function, AVX2) == 2
    verify(module)
    right(module, 8, lambda x, y: y**-0.5 + y**0.25)


@cuda.jit(fastmath=True)
def pulls(x, y, mass, near, forces, potentials):
    i = cuda.grid(1)
    if i < x.size:
        force, potential = np.float32(0), np.float32(1)
        for start in range(0, x.size, 16):
            for j in range(start, min(start + 16, x.size)):
                dx, dy = x[j] - x[i], y[j] - y[i]
                squared = dx * dx + dy * dy + np.float32(0.01)
                if squared < near:
                    inverse = np.float32(1) / math.sqrt(squared)
                    potential -= mass[j] * inverse
                    force += mass[j] * inverse * inverse * inverse * dx
        forces[i] = force
        potentials[i] = potential


def pulls_of_loops(x, y, mass, near, forces, potentials):
    for i in prange(x.size):
        force, potential = np.float32(0), np.float32(1)
        for j in range(x.size):
            dx, dy = x[j] - x[i], y[j] - y[i]
            squared = dx * dx + dy * dy + np.float32(0.01)
            if squared < near:
                inverse = np.float32(1) / math.sqrt(squared)
                potential -= mass[j] * inverse
                force += mass[j] * inverse * inverse * inverse * dx
        forces[i] = force
        potentials[i] = potential


@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("count", [5, 67])
def test_pulls(door: str, count: int) -> None:
    rng = np.random.default_rng(count)
    x, y, mass = rng.random((3, count)).astype(np.float32)
    forces, potentials = np.zeros((2, count), np.float32)
    near = np.float32(0.3)
    if door == "kernel":
        pulls[(count + 31) // 32, 32](x, y, mass, near, forces, potentials)
    else:
        weft.jit(fastmath=True, parallel=True)(pulls_of_loops)(x, y, mass, near, forces, potentials)
    dx, dy = (a[None, :].astype(float) - a[:, None] for a in (x, y))
    squared = dx * dx + dy * dy + 0.01
    there = squared < near
    np.testing.assert_allclose(
        forces, np.where(there, mass * squared**-1.5 * dx, 0).sum(axis=1), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        potentials, 1 - np.where(there, mass * squared**-0.5, 0).sum(axis=1), rtol=1e-5, atol=1e-4
    )
