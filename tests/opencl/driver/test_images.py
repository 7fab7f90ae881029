"""Images and samplers of the driver: moved by the host, read and written by kernels."""

from collections.abc import Callable

Host = Callable[..., str]


def test_images_of_the_host(host: Host) -> None:
    host("""
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
pixels = np.arange(6 * 5 * 4, dtype=np.uint8).reshape(6, 5, 4)
image = cl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, shape=(5, 6), hostbuf=pixels)
out = np.empty((2, 3, 4), np.uint8)
cl.enqueue_copy(queue, out, image, origin=(1, 2), region=(3, 2))
assert (out == pixels[2:4, 1:4]).all()
other = cl.create_image(context, flags.READ_WRITE, form, shape=(5, 6))
cl.enqueue_fill_image(queue, other, np.array([9, 8, 7, 300], np.uint32), (0, 0), (5, 6))
cl.enqueue_copy(queue, other, image, src_origin=(0, 0), dest_origin=(2, 1), region=(3, 2))
got = np.empty_like(pixels)
cl.enqueue_copy(queue, got, other, origin=(0, 0), region=(5, 6))
assert (got[0] == [9, 8, 7, 255]).all() and (got[1:3, 2:5] == pixels[0:2, 0:3]).all()
refuses(-10, cl.create_image, context, flags.READ_ONLY,
        cl.ImageFormat(cl.channel_order.BGRA, cl.channel_type.FLOAT), shape=(4, 4))
refuses(-40, cl.create_image, context, flags.READ_ONLY, form, shape=(0, 4))
""")


def test_kernels_read_and_write_images(host: Host) -> None:
    host('''
source = """
constant sampler_t clamp_linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
kernel void turn(read_only image2d_t in, write_only image2d_t out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, p.yx, read_imagef(in, p) * 2 + get_image_width(in));
}
kernel void sample(read_only image2d_t in, sampler_t nearest, global float *out, int w, int h) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * w + x] = read_imagef(in, clamp_linear, (float2)((x + 1.0f) / w, (y + 0.5f) / h)).x
        + 100 * read_imagef(in, nearest, (int2)(x - 1, y)).x;
}
"""
program = cl.Program(context, source).build()
form = cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
pixels = np.arange(20, dtype=np.float32).reshape(4, 5)
image = cl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, shape=(5, 4), hostbuf=pixels)
out = cl.create_image(context, flags.WRITE_ONLY, form, shape=(4, 5))
program.turn(queue, (5, 4), None, image, out)
got = np.empty((5, 4), np.float32)
cl.enqueue_copy(queue, got, out, origin=(0, 0), region=(4, 5))
assert (got == pixels.T * 2 + 5).all()
nearest = cl.Sampler(context, False, cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST)
target = buffer(pixels)
program.sample(queue, (5, 4), None, image, nearest, target, np.int32(5), np.int32(4))
between = (pixels + np.concatenate([pixels[:, 1:], pixels[:, -1:]], 1)) / 2
before = np.concatenate([np.zeros((4, 1)), pixels[:, :-1]], 1)
assert np.allclose(read(target, pixels), between + 100 * before)
''')


def test_arguments_for_images_are_what_kernels_may_access(host: Host) -> None:
    host('''
source = """
kernel void k(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
    write_imagef(out, (int2)(0, 0), read_imagef(in, s, (int2)(0, 0)));
}
"""
kernel = cl.Kernel(cl.Program(context, source).build(), "k")
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8)
of = {f: cl.create_image(context, f, form, shape=(4, 4)) for f in (flags.READ_ONLY, flags.WRITE_ONLY, flags.READ_WRITE)}
refuses(-50, kernel.set_arg, 0, of[flags.WRITE_ONLY])
refuses(-50, kernel.set_arg, 1, of[flags.READ_ONLY])
refuses(-41, kernel.set_arg, 2, None)
for index in (0, 1):
    kernel.set_arg(index, of[flags.READ_WRITE])
''')
