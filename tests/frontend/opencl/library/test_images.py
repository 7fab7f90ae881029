"""Reading, sampling and writing images, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from frontend.opencl.library.running import Program, load

ORDERS = {
    "R": (0x10B0, "r"), "A": (0x10B1, "a"), "RG": (0x10B2, "rg"), "RA": (0x10B3, "ra"), "RGBA": (0x10B5, "rgba"),
    "BGRA": (0x10B6, "bgra"), "ARGB": (0x10B7, "argb"), "ABGR": (0x10C3, "abgr"),
}  # fmt: skip
TYPES = {
    "snorm8": (0x10D0, np.int8), "snorm16": (0x10D1, np.int16), "unorm8": (0x10D2, np.uint8),
    "unorm16": (0x10D3, np.uint16), "int8": (0x10D7, np.int8), "int16": (0x10D8, np.int16), "int32": (0x10D9, np.int32),
    "uint8": (0x10DA, np.uint8), "uint16": (0x10DB, np.uint16), "uint32": (0x10DC, np.uint32),
    "half": (0x10DD, np.float16), "float": (0x10DE, np.float32),
}  # fmt: skip
NORMALIZED, LINEAR, NEAREST = 1, 0x20, 0x10
NONE, EDGE, BORDER, REPEAT, MIRROR = 0, 2, 4, 6, 8
DESCRIPTOR = np.dtype(
    [
        *(("pixels", "u8"), ("pitches", "i8", 2), ("size", "i4", 3)),
        *(("layers", "i4"), ("format", "u4", 2), ("bytes", "i4"), ("channels", "i4"), ("orders", "u4", 2)),
    ]
)


def described(pixels: np.ndarray, order: str, kind: str, layers: int = 0) -> np.ndarray:
    """A descriptor of pixels, an array of shape (depth or layers, height, width, channels)."""
    slices, height, width, channels = pixels.shape
    bytes_ = channels * pixels.itemsize
    sizes = (width, height, 1 if layers else slices)
    format_ = (ORDERS[order][0] if order in ORDERS else int(order, 16), TYPES[kind][0])
    pitches = (pixels.strides[1], pixels.strides[0])
    letters = ORDERS[order][1] if order in ORDERS else "rgba"
    places = [letters.find(color) if color in letters else 4 + (color == "a") for color in "rgba"]
    orders = [sum(n << 4 * k for k, n in enumerate(row)) for row in (places, map("rgba".index, letters))]
    row = (pixels.ctypes.data, pitches, sizes, layers, format_, bytes_, channels, orders)
    return np.array([row], DESCRIPTOR)


@pytest.fixture(scope="module")
def program() -> Program:
    text = ""
    for kind, suffix in (("float", "f"), ("int", "i"), ("uint", "ui")):
        text += f"""
        kernel void plain_{suffix}(read_only image2d_t image, global {kind} *r, long n) {{
          for (long i = 0; i < n; i++)
            vstore4(read_image{suffix}(image, (int2)(i % get_image_width(image), i / get_image_width(image))), i, r);
        }}
        kernel void write_{suffix}(write_only image2d_t image, global {kind} *v, long n) {{
          for (long i = 0; i < n; i++)
            write_image{suffix}(image, (int2)(i % get_image_width(image), i / get_image_width(image)), vload4(i, v));
        }}"""
    text += """
    kernel void sample_1(read_only image1d_t image, sampler_t s, global float *c, global float *r, long n) {
      for (long i = 0; i < n; i++) vstore4(read_imagef(image, s, c[i]), i, r);
    }
    kernel void sample_2(read_only image2d_t image, sampler_t s, global float *c, global float *r, long n) {
      for (long i = 0; i < n; i++) vstore4(read_imagef(image, s, vload2(i, c)), i, r);
    }
    kernel void sample_3(read_only image3d_t image, sampler_t s, global float *c, global float *r, long n) {
      for (long i = 0; i < n; i++) vstore4(read_imagef(image, s, (float4)(vload3(i, c), 0)), i, r);
    }
    kernel void layers(read_only image2d_array_t image, sampler_t s, global float *c, global float *r, long n) {
      for (long i = 0; i < n; i++) vstore4(read_imagef(image, s, (float4)(vload3(i, c), 0)), i, r);
    }
    kernel void own(read_only image2d_t image, global int *c, global float *r, long n) {
      const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
      for (long i = 0; i < n; i++) vstore4(read_imagef(image, s, vload2(i, c)), i, r);
    }
    kernel void asked(
        read_only image3d_t a, write_only image2d_array_t b, read_only image1d_buffer_t c, global int *r) {
      vstore4(get_image_dim(a), 0, r); vstore2(get_image_dim(b), 2, r); r[6] = get_image_array_size(b);
      r[7] = get_image_width(c); r[8] = get_image_channel_order(a); r[9] = get_image_channel_data_type(a);
      r[10] = read_imageui(c, 2).x;
    }
    """
    return load(text)


def random_pixels(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    draw, t = np.random.default_rng(len(kind)), TYPES[kind][1]
    if np.dtype(t).kind == "f":
        return draw.standard_normal(shape).astype(t)
    info = np.iinfo(t)
    return draw.integers(info.min, info.max, shape, dtype=t, endpoint=True)


def decoded(pixels: np.ndarray, kind: str, order: str) -> np.ndarray:
    """The four channels of each pixel as the language sees them."""
    value = pixels.astype(np.float64) if "int" not in kind else pixels.astype(np.int64)
    if "norm" in kind:
        value = np.maximum(value / int(np.iinfo(TYPES[kind][1]).max), -1.0)
    result = np.zeros((*pixels.shape[:-1], 4), value.dtype)
    letters = ORDERS[order][1]
    if "a" not in letters:
        result[..., 3] = 1
    for k, letter in enumerate(letters):
        result[..., "rgba".index(letter)] = value[..., k]
    return result


@pytest.mark.parametrize("kind", TYPES)
def test_formats(program: Program, kind: str) -> None:
    """Each channel type in each order: read, and written back."""
    suffix = "ui" if kind.startswith("uint") else "i" if kind.startswith("int") else "f"
    t = {"f": np.float32, "i": np.int32, "ui": np.uint32}[suffix]
    for order, (_, letters) in ORDERS.items():
        pixels = random_pixels(kind, (1, 3, 5, len(letters)))
        read = np.zeros((15, 4), t)
        program(f"plain_{suffix}", described(pixels, order, kind), read, 15)
        wanted = decoded(pixels, kind, order).reshape(15, 4)
        assert np.allclose(read, wanted, rtol=2e-7, atol=0), order
        again = np.zeros_like(pixels)
        program(f"write_{suffix}", described(again, order, kind), read, 15)
        # The least of a signed type is -1 as well as the one above it.
        same = (
            np.where(pixels == np.iinfo(pixels.dtype).min, pixels + 1, pixels)
            if kind.startswith("snorm")
            else pixels
        )
        assert (again == same).all(), order


def test_writes_saturate(program: Program) -> None:
    pixels = np.zeros((1, 1, 1, 4), np.uint8)
    program("write_f", described(pixels, "RGBA", "unorm8"), np.array([-1, 2, 0.5, np.nan], np.float32), 1)
    assert pixels.ravel().tolist() == [0, 255, 128, 0]
    small = np.zeros((1, 1, 1, 4), np.int8)
    program("write_i", described(small, "RGBA", "int8"), np.array([-1000, 1000, 5, -5], np.int32), 1)
    assert small.ravel().tolist() == [-128, 127, 5, -5]


def place(at: float, size: int, mode: int, normalized: bool) -> tuple[float, bool]:
    """A coordinate in pixels, and whether it repeats."""
    if not normalized:
        return at, False
    if mode == REPEAT:
        return (at - np.floor(at)) * size, True
    if mode == MIRROR:
        return abs(at - 2 * np.rint(0.5 * at)) * size, False
    return at * size, False


def index(at: int, size: int, mode: int) -> int | None:
    """The pixel of a place; None outside."""
    if mode == REPEAT:
        return at % size
    if mode == BORDER and not 0 <= at < size:
        return None
    return min(max(at, 0), size - 1)


def sampled(pixels: np.ndarray, point: tuple[float, ...], bits: int) -> np.ndarray:
    """What a sampler gives; pixels have shape (sizes from the last dimension to the first, 4)."""
    mode, sizes = bits & 14, pixels.shape[-2::-1]
    places = [
        np.float32(place(np.float32(p), s, mode, bool(bits & 1))[0])
        for p, s in zip(point, sizes, strict=True)
    ]
    border = np.zeros(4)
    if not bits & LINEAR:
        found = [index(int(np.floor(u)), s, mode) for u, s in zip(places, sizes, strict=True)]
        return border if None in found else pixels[tuple(found[::-1])]
    total = np.zeros(4)
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight, found = 1.0, []
        for u, s, c in zip(places, sizes, corner, strict=True):
            low = np.floor(u - np.float32(0.5))
            part = float(u - np.float32(0.5) - low)
            weight *= part if c else 1 - part
            found.append(index(int(low) + c, s, mode))
        total += weight * (border if None in found else pixels[tuple(found[::-1])])
    return total


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_samplers(program: Program, dimensions: int) -> None:
    shape = (*((3,) if dimensions > 2 else (1,)), *((4,) if dimensions > 1 else (1,)), 5, 4)
    pixels = random_pixels("float", shape)
    seen = pixels.reshape(*shape[3 - dimensions : 3], 4).astype(np.float64)
    draw = np.random.default_rng(dimensions)
    for mode, normalized, filtering in itertools.product(
        (EDGE, BORDER, REPEAT, MIRROR), (0, 1), (NEAREST, LINEAR)
    ):
        if mode in (REPEAT, MIRROR) and not normalized:
            continue
        points = draw.uniform(-2, 3, (60, dimensions)) * (
            1 if normalized else np.array(shape[2::-1])[:dimensions]
        )
        points = points.astype(np.float32)
        bits = mode | normalized | filtering
        result = np.zeros((60, 4), np.float32)
        image = described(pixels, "RGBA", "float")
        program(f"sample_{dimensions}", image, bits, np.ascontiguousarray(points), result, 60)
        wanted = np.array([sampled(seen, tuple(p), bits) for p in points.tolist()])
        assert np.allclose(result, wanted, rtol=1e-4, atol=1e-4), (mode, normalized, filtering)


def test_layers_and_borders(program: Program) -> None:
    pixels = random_pixels("unorm8", (3, 2, 2, 1))
    seen = decoded(pixels, "unorm8", "R")
    points = np.array([[0, 0, -5], [1, 1, 0.4], [0, 1, 1.6], [1, 0, 99]], np.float32)
    result = np.zeros((4, 4), np.float32)
    program("layers", described(pixels, "R", "unorm8", layers=3), EDGE | NEAREST, points, result, 4)
    assert np.allclose(result, [seen[0, 0, 0], seen[0, 1, 1], seen[2, 1, 0], seen[2, 0, 1]], rtol=1e-6)
    inside, outside = [0, 1], [5, 0]
    result = np.zeros((2, 4), np.float32)
    program("own", described(pixels[:1], "R", "unorm8"), np.array([inside, outside], np.int32), result, 2)
    assert np.allclose(result, [seen[0, 1, 0], [0, 0, 0, 1]])
    alpha = random_pixels("unorm8", (1, 2, 2, 4))
    program("own", described(alpha, "RGBA", "unorm8"), np.array([outside, outside], np.int32), result, 2)
    assert (result == 0).all()


def test_what_an_image_is(program: Program) -> None:
    volume, array = random_pixels("half", (4, 3, 2, 2)), random_pixels("int8", (5, 2, 7, 1))
    buffer = np.arange(9, dtype=np.uint16)
    result = np.zeros(11, np.int32)
    program(
        "asked", described(volume, "RG", "half"), described(array, "R", "int8", layers=5),
        described(buffer.reshape(1, 1, 9, 1), "R", "uint16"), result,
    )  # fmt: skip
    assert result.tolist() == [2, 3, 4, 0, 7, 2, 5, 9, 0x10B2, 0x10DD, 2]


def test_srgb(program: Program) -> None:
    pixels = np.array([[[[0, 10, 128, 128], [255, 11, 64, 255]]]], np.uint8)
    read = np.zeros((2, 4), np.float32)
    program("plain_f", described(pixels, "0x10C1", "unorm8"), read, 2)
    c = pixels.reshape(2, 4) / 255
    wanted = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    wanted[:, 3] = c[:, 3]
    assert np.allclose(read, wanted, rtol=1e-5)
    again = np.zeros_like(pixels)
    program("write_f", described(again, "0x10C1", "unorm8"), read, 2)
    assert (again == pixels).all()
