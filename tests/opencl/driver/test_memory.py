"""Buffers and images of the driver: what host programs read is what they wrote, and errors are the standard's."""

from collections.abc import Callable

Host = Callable[..., str]


def test_bytes_go_where_they_should(host: Host) -> None:
    host("""
a = np.arange(1000, dtype=np.float32)
b, c = buffer(a), cl.Buffer(context, flags.READ_WRITE, a.nbytes)
cl.enqueue_copy(queue, c, b)
assert (read(c, a) == a).all()
cl.enqueue_fill_buffer(queue, c, np.float32(3), 4, 40)
assert read(c, a)[:12].tolist() == [0] + [3] * 10 + [11]
mapped, _ = cl.enqueue_map_buffer(queue, b, cl.map_flags.WRITE, 400, (10,), np.float32)
mapped[:] = -1
mapped.base.release(queue)
assert (read(b, a)[100:110] == -1).all() and read(b, a)[110] == 110
part = buffer(a).get_sub_region(128, 256)
assert (read(part, a[:64]) == a[32:96]).all()

box = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
memory, out = buffer(box), np.zeros((2, 2, 2), np.uint8)
cl.enqueue_copy(queue, out, memory, buffer_origin=(1, 2, 1), host_origin=(0, 0, 0), region=(2, 2, 2),
                buffer_pitches=(5, 20), host_pitches=(2, 4))
assert (out == box[1:3, 2:4, 1:3]).all()
""")


def test_requests_that_the_standard_refuses(host: Host) -> None:
    host("""
memory = buffer(np.zeros(64, np.float32))
refuses(-61, cl.Buffer, context, flags.READ_WRITE, 0)
refuses(-30, cl.Buffer, context, flags.READ_WRITE | flags.READ_ONLY, 4)
refuses(-37, cl.Buffer, context, flags.USE_HOST_PTR, 4)
refuses(-13, memory.get_sub_region, 4, 8)
refuses(-30, memory.get_sub_region, 0, 512)
refuses(-8, cl.enqueue_copy, queue, memory, memory, byte_count=16)
refuses(-30, cl.enqueue_fill_buffer, queue, memory, np.zeros(3, np.uint8), 0, 3)
hidden = cl.Buffer(context, flags.READ_WRITE | flags.HOST_NO_ACCESS, 64)
refuses(-59, cl.enqueue_copy, queue, np.zeros(16, np.float32), hidden)
box = [(0, 0, 0), (2, 0, 0), (4, 2, 1)]
refuses(-8, cl.enqueue_copy_buffer_rect if hasattr(cl, "enqueue_copy_buffer_rect") else cl.enqueue_copy, queue,
        memory, memory, src_origin=box[0], dst_origin=box[1], region=box[2], src_pitches=(8,), dst_pitches=(8,))
""")


def test_shared_virtual_memory(host: Host) -> None:
    host("""
svm = cl.SVMAllocation(context, 4096, 64, cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER)
data = np.asarray(svm).view(np.int32) if hasattr(svm, "__array_interface__") else None
program = cl.Program(context, "kernel void f(global int *x) { x[get_global_id(0)] = 7 + get_global_id(0); }").build()
kernel = program.f
kernel.set_arg(0, svm)
cl.enqueue_nd_range_kernel(queue, kernel, (16,), None)
queue.finish()
out = np.empty(16, np.int32)
cl.enqueue_copy(queue, out, cl.SVM(svm) if not isinstance(svm, cl.SVMPointer) else svm, byte_count=64)
queue.finish()
assert (out == 7 + np.arange(16)).all()
""")


def test_buffers_that_share_bytes(host: Host) -> None:
    host("""
program = cl.Program(context, '''
kernel void blur(global const float *a, global float *out, int n, int w) {
    int t = get_global_id(0);
    for (int i = 0; i < n; i++) out[i * w + t] = a[i * w + t] + a[(i + 1) * w + t] + a[(i + 2) * w + t];
}''').build()
a = np.arange(12 * 64, dtype=np.float32).reshape(12, 64)
whole, out = buffer(a), cl.Buffer(context, flags.READ_WRITE, 10 * 256)
program.blur(queue, (64,), (32,), whole, out, np.int32(10), np.int32(64))
assert (read(out, a[:10]) == a[:-2] + a[1:-1] + a[2:]).all()
wanted = a.copy()
for i in range(10):
    wanted[i + 2] = wanted[i] + wanted[i + 1] + wanted[i + 2]
program.blur(queue, (64,), (32,), whole, whole.get_sub_region(512, 10 * 256), np.int32(10), np.int32(64))
assert (read(whole, a) == wanted).all()
""")
