"""Roots of floats by the processor's instruction: in which loops, and how exact they are."""

import math

import numpy as np
import pytest

import weft
from weft import prange
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.host import chosen
from weft.machine.targets import AVX2, NEON, SSE2, Isa, best_isa
from weft.transform.numbers.true_roots import take_true_roots

HASWELL = best_isa("x86_64", AVX2.features, "haswell")

LOOP = """
declare {type} @llvm.sqrt.{name}({type})
define void @f(ptr %xs, ptr %out) {{
A:
  br label %L
L:
  %i = phi i64 [ 0, %A ], [ %j, %L ]
  %at = getelementptr {type}, ptr %xs, i64 %i
  %x = load {type}, ptr %at, align 4
  %s0 = fmul fast {type} %x, %x
{beside}
  %root = call {flags} {type} @llvm.sqrt.{name}({type} %s{count})
{end}
  %to = getelementptr {type}, ptr %out, i64 %i
  store {type} %last, ptr %to, align 4
  %j = add nsw i64 %i, 1
  %again = icmp slt i64 %j, 100
  br i1 %again, label %L, label %D
D:
  ret void
}}
"""
SUM = "  %last = fadd fast {type} %root, %x"
QUOTIENT = "  %last = fdiv fast {type} %x, %root"


def taken(
    beside: int, lanes: int = 8, isa: Isa = AVX2, flags: str = "fast", end: str = SUM, element: str = "float"
) -> int:
    """How many roots of the loop are taken by the instruction, of so many products beside one."""
    type = f"<{lanes} x {element}>" if lanes > 1 else element
    name = (f"v{lanes}" if lanes > 1 else "") + ("f32" if element == "float" else "f64")
    products = [f"  %s{k + 1} = fmul fast {type} %s{k}, %x" for k in range(beside)]
    text = LOOP.format(
        type=type,
        name=name,
        beside="\n".join(products),
        count=beside,
        flags=flags,
        end=end.format(type=type),
    )
    module = read_module(text)
    verify(module)
    count = take_true_roots(module.functions["f"], isa)
    verify(module)
    (root,) = (i for i in module.functions["f"].instructions() if i.name == "root")
    assert (count == 0) == (root.flags == tuple(flags.split()))
    # What else is allowed still is: a product of equal roots has none.
    assert count == 0 or set(root.flags) == {"arcp", "contract", "ninf", "nnan", "nsz", "reassoc"}
    return count


def test_with_enough_beside_the_divider_keeps_up() -> None:
    assert taken(12) == taken(12, lanes=16) == taken(12, lanes=1) == 1
    assert taken(12, lanes=4, isa=SSE2) == 1
    assert taken(0) == taken(3) == taken(3, lanes=16) == taken(3, lanes=1) == 0
    # Haswell's divider takes twice as long.
    assert taken(12, isa=HASWELL) == 0
    assert taken(40, isa=HASWELL) == 1


def test_what_stays() -> None:
    assert taken(12, flags="reassoc") == taken(12, flags="") == 0
    assert taken(12, isa=NEON) == 0
    assert taken(12, element="double") == 0
    # LLVM has an estimate of the inverse root.
    assert taken(12, end=QUOTIENT) == 0


def test_products_in_sums_are_one_operation() -> None:
    sums = "\n".join(
        f"  %p{k} = fmul fast {{type}} %x, %{'x' if k == 0 else f'q{k - 1}'}\n"
        f"  %q{k} = fadd fast {{type}} %p{k}, %x"
        for k in range(5)
    )
    end = f"{sums}\n  %last = fadd fast {{type}} %root, %q4"
    assert taken(0, end=end) == 0
    assert taken(0, end=end.replace("fadd fast {type} %p", "fsub {type} %p")) == 1


def slopes(xs, out):
    for i in prange(1, out.size - 1):
        a, b, c = xs[i - 1], xs[i], xs[i + 1]
        u = (a - c) * (a + b) + (b - c) * (a + c) + a * np.float32(0.3)
        v = (c + b) * (a - b) - (c - a) * (b + c) + b * np.float32(0.7)
        out[i] = math.sqrt(u * u + v * v)


def test_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    xs = np.random.default_rng(5).uniform(-3, 3, 5000).astype(np.float32)
    xs[1000:1040] = 0
    out = np.zeros_like(xs)
    compiled = weft.jit(slopes, fastmath=True)
    compiled(xs, out)
    a, b, c = (x.astype(np.float64) for x in (xs[:-2], xs[1:-1], xs[2:]))
    u = (a - c) * (a + b) + (b - c) * (a + c) + a * np.float64(np.float32(0.3))
    v = (c + b) * (a - b) - (c - a) * (b + c) + b * np.float64(np.float32(0.7))
    np.testing.assert_allclose(out[1:-1], np.sqrt(u * u + v * v), rtol=2e-5, atol=2e-6)
    assert not np.any(out[1001:1039])
    if chosen().arch == "x86_64" and chosen().isa.core.root_cycles < 10:
        text = compiled.inspect_asm()
        text = "\n".join(map(str, text.values())) if isinstance(text, dict) else str(text)
        assert "sqrtps" in text
        assert "rsqrt" not in text
