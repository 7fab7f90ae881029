"""Programs and kernels through the driver: building, binaries, launches, and what is refused."""

from collections.abc import Callable

Host = Callable[..., str]

_SOURCE = '''
source = """
typedef struct { int a; float b; float4 c; } Settings;
global int counter = 5;
constant float table[4] = {1, 2, 3, 4};
kernel void saxpy(float a, global const float *x, global float *y) {
    int i = get_global_id(0);
    y[i] += a * x[i] + table[i & 3];
}
kernel void reverse(global int *x, local int *t) {
    int l = get_local_id(0), n = get_local_size(0);
    t[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[n - 1 - l];
}
kernel void settings(Settings s, float4 v, global float *out) {
    out[get_global_id(0)] = s.a + s.b + s.c.w + v.y;
}
kernel __attribute__((reqd_work_group_size(4, 1, 1))) void scope(global int *out) {
    out[get_global_id(0)] = counter;
    if (get_global_id(0) == 0) printf("%d %v2f %s %c|", -3, (float2)(1.5f, 2), "text", 'x');
}
kernel void places(global int *out) {
    int i = get_global_id(0) - get_global_offset(0);
    out[4 * i] = get_global_id(0);
    out[4 * i + 1] = get_group_id(0);
    out[4 * i + 2] = get_local_size(0);
    out[4 * i + 3] = get_num_groups(0);
}
"""
'''


def test_launches(host: Host) -> None:
    printed = host(
        _SOURCE
        + """
program = cl.Program(context, source).build("-cl-std=CL3.0")
x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
target = buffer(y)
program.saxpy(queue, (1000,), (100,), np.float32(2), buffer(x), target)
assert (read(target, y) == 1 + 2 * x + np.arange(1000) % 4 + 1).all()
z = np.arange(256, dtype=np.int32)
target = buffer(z)
program.reverse(queue, (256,), (64,), target, cl.LocalMemory(256))
assert (read(target, z) == z.reshape(4, 64)[:, ::-1].ravel()).all()
program.reverse(queue, (256,), (1,), target, cl.LocalMemory(4))
assert (read(target, z) == z.reshape(4, 64)[:, ::-1].ravel()).all()
kind = np.dtype([("a", "i4"), ("b", "f4"), ("c", "f4", 4)], align=True)
kind = np.dtype({"names": kind.names, "formats": ["i4", "f4", ("f4", 4)], "offsets": [0, 4, 16], "itemsize": 32})
settings = np.zeros(1, kind)
settings["a"], settings["b"], settings["c"][0, 3] = 3, 0.5, 7
target = buffer(x)
program.settings(queue, (10,), None, settings[0], np.array([1, 2, 3, 4], np.float32), target)
assert (read(target, x)[:10] == 12.5).all()
target = buffer(z)
program.scope(queue, (8,), None, target)
assert read(target, z)[:9].tolist() == [5] * 8 + [8]
target = buffer(np.zeros(4 * 70, np.int32))
program.places(queue, (70,), (32,), target, global_offset=(100,))
got = read(target, np.zeros((70, 4), np.int32))
assert (got[:, 0] == 100 + np.arange(70)).all() and (got[:, 1] == np.arange(70) // 32).all()
assert (got[:, 2] == np.where(np.arange(70) < 64, 32, 6)).all() and (got[:, 3] == 3).all()
"""
    )
    assert printed == "-3 1.500000,2.000000 text x|"


def test_binaries_and_parts(host: Host) -> None:
    host(
        _SOURCE
        + """
program = cl.Program(context, source).build("-cl-std=CL3.0")
[binary] = program.get_info(cl.program_info.BINARIES)
again = cl.Program(context, [device], [binary]).build()
x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
target = buffer(y)
again.saxpy(queue, (64,), None, np.float32(1), buffer(x), target)
assert (read(target, y) == x + np.arange(64) % 4 + 1).all()
refuses(-42, cl.Program, context, [device], [b"not a program"])

plus = cl.Program(context, '#include "plus.h"\\nint plus(int x) { return x + AMOUNT; }').compile(
    headers=[("plus.h", cl.Program(context, "#define AMOUNT 3"))])
user = cl.Program(context, "int plus(int); kernel void f(global int *x)"
                           "{ x[get_global_id(0)] = plus(get_global_id(0)); }").compile()
linked = cl.link_program(context, [plus, user])
target = buffer(np.zeros(8, np.int32))
linked.f(queue, (8,), None, target)
assert (read(target, np.zeros(8, np.int32)) == 3 + np.arange(8)).all()
"""
    )


def test_builds_that_fail(host: Host) -> None:
    host("""
program = cl._cl._Program(context, "kernel void f(global int *x) {\\n x[0] = y; }")
refuses(-11, program._build, b"", [device])
log = program.get_build_info(device, cl.program_build_info.LOG)
assert ":2:9: error" in log and "'y'" in log, log
assert program.get_build_info(device, cl.program_build_info.STATUS) == -2
refuses(-11, cl._cl._Program(context, "int f(int n) { return n ? f(n - 1) + f(n - 2) : 1; }"
                                      "kernel void k(global int *x) { *x = f(*x); }")._build, b"", [device])
program = cl._cl._Program(context, "void nobody(int);\\nkernel void f() { nobody(1); }")
refuses(-11, program._build, b"", [device])
assert "nobody defines nobody" in program.get_build_info(device, cl.program_build_info.LOG)
header = cl.Program(context, "")
refuses(-15, cl.Program(context, "kernel void f() {}").compile, headers=[("../out.h", header)])
cl.Program(context, "\\ufeffkernel void f() {}").build()
refuses(-43, cl._cl._Program(context, "kernel void f() {}")._build, b"-no-such-option", [device])
""")


def test_launches_that_are_refused(host: Host) -> None:
    host(
        _SOURCE
        + """
program = cl.Program(context, source).build("-cl-std=CL3.0 -cl-uniform-work-group-size")
saxpy, scope, reverse = program.saxpy, program.scope, program.reverse
target = buffer(np.zeros(64, np.float32))
refuses(-52, cl.enqueue_nd_range_kernel, queue, saxpy, (64,), None)
refuses(-49, saxpy.set_arg, 3, target)
refuses(-51, saxpy.set_arg, 0, np.float64(1))
refuses(-46, lambda: cl.Kernel(program, "nothing"))
scope.set_args(target)
refuses(-54, cl.enqueue_nd_range_kernel, queue, scope, (8,), (2,))
refuses(-54, cl.enqueue_nd_range_kernel, queue, scope, (6,), None)
refuses(-53, cl.enqueue_nd_range_kernel, queue, scope, (1, 1, 1, 1), None)
saxpy.set_args(np.float32(1), target, target)
refuses(-54, cl.enqueue_nd_range_kernel, queue, saxpy, (10,), (4,))
refuses(-55, cl.enqueue_nd_range_kernel, queue, saxpy, (4096,), (2048,))
reverse.set_args(target, cl.LocalMemory(1 << 20))
refuses(-5, cl.enqueue_nd_range_kernel, queue, reverse, (8,), (8,))
"""
    )


def test_what_the_device_says(host: Host) -> None:
    host(
        _SOURCE
        + """
assert platform.name == "weft" and device.version.startswith("OpenCL 3.0 ")
assert device.max_work_group_size == 1024 and device.type & cl.device_type.CPU
program = cl.Program(context, source).build("-cl-std=CL3.0 -cl-kernel-arg-info")
kernel = program.scope
assert kernel.attributes == "reqd_work_group_size(4,1,1)" and kernel.num_args == 1
assert kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device) == [4, 1, 1]
info = cl.kernel_arg_info
saxpy = program.saxpy
assert saxpy.get_arg_info(1, info.TYPE_NAME) == "float*" and saxpy.get_arg_info(1, info.NAME) == "x"
assert saxpy.get_arg_info(1, info.ADDRESS_QUALIFIER) == cl.kernel_arg_address_qualifier.GLOBAL
"""
    )
