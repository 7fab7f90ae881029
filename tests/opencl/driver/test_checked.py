"""``WEFT_OPENCL_DEBUG=1``: what a launch does wrong is told, with the line, in hosts of any language."""

from collections.abc import Callable

_HOST = '''
source = """
typedef struct { int shift; float scale; } Settings;
global int counter = 5;
kernel void fine(global float *x, global const float *y, Settings s, local float *t, float4 v, read_only image2d_t i) {
    int l = get_local_id(0);
    t[l] = y[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[l ^ s.shift] * s.scale + counter + v.w + read_imagef(i, (int2)(1, 0)).x;
    if (get_global_id(0) == 3) printf("%d|", s.shift);
}
kernel void outside(global float *x) { x[get_global_id(0) + 1] = 1; }
kernel void split(global float *x) {
    if (get_local_id(0) < 2) { barrier(CLK_LOCAL_MEM_FENCE); x[0] = 1; } else barrier(CLK_LOCAL_MEM_FENCE);
}
"""
program = cl.Program(context, source).build("-cl-std=CL3.0")
x, y = np.zeros(16, np.float32), np.arange(16, dtype=np.float32)
target = buffer(x)
settings = np.array([(1, 2)], np.dtype([("shift", "i4"), ("scale", "f4")]))[0]
image = cl.image_from_array(context, np.full((2, 2), 0.5, np.float32), 1)
vector = np.array([0, 0, 0, 1], np.float32)
program.fine(queue, (16,), (8,), target, buffer(y), settings, cl.LocalMemory(32), vector, image)
assert (read(target, x) == 2 * y.reshape(8, 2)[:, ::-1].ravel() + 6.5).all()
assert program.outside(queue, (15,), None, target).wait() is None
for kernel in program.outside, program.split:
    try:
        kernel(queue, (16,), (16,), target).wait()
    except cl.Error:
        continue
    print("accepted")
'''


def test_launches_are_checked(host_streams: Callable[..., tuple[str, str]]) -> None:
    out, errors = host_streams(_HOST, WEFT_OPENCL_DEBUG="1")
    assert out == "1|"
    first, second = [line for line in errors.splitlines() if line.startswith("weft: ")]
    assert "outside: " in first and ":11:" in first and "out-of-bounds" in first
    assert "split: " in second and "barrier" in second
