"""Images and samplers as arguments of kernels, beside NumPy."""

import numpy as np
import pytest

from weft import opencl
from weft.errors import ArgumentError, SanitizerError

pytest.importorskip("ziglang")

SOURCE = """
kernel void shrunk(read_only image2d_t from, sampler_t s, write_only image2d_t to) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float2 size = convert_float2(get_image_dim(to));
  write_imagef(to, at, read_imagef(from, s, (convert_float2(at) + 0.5f) / size));
}
kernel void layers(read_only image2d_array_t from, read_only image3d_t deep, read_only image1d_t row,
                   global uint *sums) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  uint4 a = read_imageui(from, s, (int4)(x, y, z, 0));
  uint4 beyond = read_imageui(from, s, (int4)(x + get_image_width(from), y, z, 0));
  float4 b = read_imagef(deep, s, (int4)(x, y, z, 0)), c = read_imagef(row, s, x);
  sums[x + get_global_size(0) * (y + get_global_size(1) * z)] =
      a.x + 10 * a.y + 100 * (uint)(b.x * 255 + 0.5f) + 100000 * (uint)c.x + beyond.x +
      10000000 * get_image_array_size(from);
}
kernel void past(global float *y, read_only image1d_t x) { y[get_global_id(0) + 1] = read_imagef(x, 0).x; }
"""


@pytest.fixture(scope="module")
def program() -> opencl.Program:
    return opencl.Program(SOURCE)


def test_linear_reads_and_normalized_writes(program, monkeypatch):
    # The interpreter does not know where a descriptor's pixels are copied to, and so checks no pass.
    monkeypatch.setenv("WEFT_CHECK", "0")
    x = np.random.default_rng(1).random((8, 12, 4), np.float32)
    y = np.zeros((4, 6, 4), np.uint8)
    linear = opencl.Sampler(normalized=True, filter="linear")
    program.shrunk((6, 4), (3, 2), opencl.Image(x, "RGBA"), linear, opencl.Image(y, "BGRA", normalized=True))
    wanted = x.reshape(4, 2, 6, 2, 4).mean((1, 3))[..., [2, 1, 0, 3]] * 255
    assert np.abs(y - wanted).max() <= 0.51


def test_layers_slices_and_integers(program, monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "0")
    rng = np.random.default_rng(2)
    layers = rng.integers(0, 10, (3, 2, 4, 2), np.uint16)
    deep, row = rng.integers(0, 256, (3, 2, 4), np.uint8), np.arange(4, dtype=np.float16)
    sums = np.zeros((3, 2, 4), np.uint32)
    images = (opencl.Image(layers, "RG"), opencl.Image(deep, normalized=True), opencl.Image(row))
    program.layers((4, 2, 3), None, *images, sums)
    wanted = layers[..., 0] + 10 * layers[..., 1].astype(int) + 100 * deep.astype(int) + 100000 * np.arange(4)
    assert np.array_equal(sums, wanted + 30000000)


def test_on_the_interpreter():
    program = opencl.Program(SOURCE, debug=True)
    with pytest.raises(SanitizerError, match="out-of-bounds: store of 4 bytes at offset 16"):
        program.past(4, None, np.zeros(4, np.float32), opencl.Image(np.ones(3, np.float32)))


def test_what_does_not_fit(program):
    x, y = np.zeros((8, 12, 4), np.float32), np.zeros((4, 6, 4), np.uint8)
    good = [opencl.Image(x, "RGBA"), opencl.Sampler(True), opencl.Image(y, "RGBA", normalized=True)]
    locked = y.copy()
    locked.flags.writeable = False
    for position, value, message in (
        (0, x, "image2d_t, and an array of float32 was given"),
        (0, opencl.Image(x), r"the image has the shape \(8, 12, 4\)\n.*\n  hint: its axes are rows, columns"),
        (0, opencl.Image(x[..., 0].copy(), "DEPTH"), "the image one of DEPTH"),
        (1, 3, "it is a sampler_t, and int 3 was given"),
        (
            2,
            opencl.Image(locked, "RGBA", normalized=True),
            "it is write_only, and the image cannot be written",
        ),
    ):
        with pytest.raises(ArgumentError, match=message):
            program.shrunk((6, 4), None, *good[:position], value, *good[position + 1 :])
    with pytest.raises(ArgumentError, match="an image of BGRA on an array of float32\n"):
        opencl.Image(x, "BGRA")
    with pytest.raises(ArgumentError, match="its last axis has the 2 channels"):
        opencl.Image(x, "RG")
    with pytest.raises(ArgumentError, match="normalized=True"):
        opencl.Sampler(addressing="repeat")
