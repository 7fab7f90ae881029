"""Exponentials of floats as CUDA writes them out, and the step of them that is rounded down."""

import numpy as np
import pytest

from weft import ptx
from weft.ptx.lift.known_floats import known_floats
from weft.ptx.lift.written_exponentials import written_exponentials
from weft.ptx.reader import read_module

# nvcc: y[i] = expf(x[i]), with 0.5f * x[i] where {x} says so.
TEXT = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_x, .param .u64 k_y) {{
  .reg .f32 %f<20>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [k_x];
  ld.param.u64 %rd2, [k_y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mov.f32 %f2, 0f3F000000;
  mov.f32 %f3, 0f3BBB989D;
  fma.rn.f32 %f4, %f1, %f3, %f2;
  cvt.sat.f32.f32 %f5, %f4;
  mov.f32 %f6, 0f4B400001;
  mov.f32 %f7, {octaves};
  fma.rm.f32 %f8, %f5, %f7, %f6;
  add.f32 %f9, %f8, 0fCB40007F;
  neg.f32 %f10, %f9;
  fma.rn.f32 %f11, %f1, 0f3FB8AA3B, %f10;
  fma.rn.f32 %f12, %f1, 0f32A57060, %f11;
  mov.b32 %r2, %f8;
  shl.b32 %r3, %r2, 23;
  mov.b32 %f13, %r3;
  ex2.approx.ftz.f32 %f14, %f12;
  {before}
  {product}
  st.global.f32 [%rd5], %f15;
  ret;
}}
"""
OCTAVES, PRODUCT = "0f437C0000", "mul.f32 %f15, %f14, %f13;"


def text_of(octaves: str = OCTAVES, before: str = "", product: str = PRODUCT) -> str:
    return TEXT.format(octaves=octaves, before=before, product=product)


def found(text: str) -> int:
    (kernel,) = read_module(text, "k.ptx").entries()
    return len(written_exponentials(kernel, known_floats(kernel)))


def computed(text: str, x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    ptx.Module(text).k[1, len(x)](x, y)
    return y


SAMPLES = np.concatenate([np.linspace(-110, 95, 990), [0, -0.0, 1e-30, np.inf, -np.inf, np.nan, 88.8, -104]])
SAMPLES = SAMPLES.astype(np.float32)


@pytest.mark.parametrize(
    ("product", "added"),
    [
        (PRODUCT, 0),
        ("mul.f32 %f15, %f13, %f14;", 0),
        ("fma.rn.f32 %f15, %f14, %f13, 0f40000000;", 2),
    ],
)
def test_they_are_found(product: str, added: float) -> None:
    text = text_of(product=product)
    assert found(text) == 1
    with np.errstate(over="ignore"):
        right = np.exp(SAMPLES.astype(np.float64)) + added
        right = np.where(right > np.finfo(np.float32).max, np.inf, right)
        right = np.where((right < 1.2e-38) & (right > 0), right, right.astype(np.float32))
    y = computed(text, SAMPLES[:1000])
    ok = np.isclose(y, right[:1000], rtol=3e-7, atol=2e-45, equal_nan=True)
    assert ok.all(), (SAMPLES[:1000][~ok], y[~ok])


@pytest.mark.parametrize(
    "text",
    [
        text_of("0f43000000"),
        text_of(before="add.f32 %f1, %f1, 0f3F800000;"),
        text_of(before="shl.b32 %r3, %r2, 22;  mov.b32 %f13, %r3;"),
        text_of(product="mul.f32 %f15, %f14, %f14;"),
        text_of(product="mul.rz.f32 %f15, %f14, %f13;"),
        text_of(before="LABEL:"),
        text_of(before="setp.lt.f32 %p1, %f1, 0f00000000; @%p1 mov.f32 %f14, %f1;").replace(
            ".reg .f32", ".reg .pred %p<2>; .reg .f32"
        ),
    ],
    ids=["constant", "argument", "scale", "square", "rounding", "block", "predicate"],
)
def test_others_are_computed_step_by_step(text: str) -> None:
    assert found(text) == 0


def test_what_is_written_elsewhere_gives_about_the_same() -> None:
    x = SAMPLES[:980]
    step_by_step = computed(text_of(before="LABEL:"), x)
    assert np.allclose(step_by_step, computed(text_of(), x), rtol=1e-6, atol=2e-45)


ROUNDED = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_x, .param .u64 k_y) {{
  .reg .f32 %f<20>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [k_x];
  ld.param.u64 %rd2, [k_y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  cvt.sat.f32.f32 %f5, %f1;
  mov.f32 %f6, {c};
  mov.f32 %f7, {b};
  fma.{direction}.f32 %f8, %f5, %f7, %f6;
  st.global.f32 [%rd5], %f8;
  ret;
}}
"""


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("direction", ["rm", "rz"])
@pytest.mark.parametrize(
    ("b", "c"), [("0f437C0000", "0f4B400001"), ("0f3DCCCCCD", "0f4B000000"), ("0f4A7FFFF1", "0f4B000000")]
)
def test_sums_whose_neighbours_are_1_apart_are_rounded_down(
    b: str, c: str, direction: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    factor, added = (float(np.uint32(int(text[2:], 16)).view(np.float32)) for text in (b, c))
    edges = np.float32(np.arange(0, 253) / factor)
    near = [np.nextafter(edges, np.float32(way)) for way in (0, 2)]
    x = np.concatenate([edges, *near, np.float32([-1, 0, 5e-45, np.nan, 1, 3, 1e-20])])
    x = np.concatenate([x, np.random.default_rng(3).random(200, np.float32)])
    y = computed(ROUNDED.format(b=b, c=c, direction=direction), x)
    a = np.clip(np.where(np.isnan(x), 0, x), 0, 1).astype(np.float64)
    assert np.array_equal(y, np.floor(a * factor) + added)
