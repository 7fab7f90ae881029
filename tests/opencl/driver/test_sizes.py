"""Work-group sizes that the driver chooses where a host asks for none."""

from collections.abc import Callable


def test_the_driver_and_the_python_door_choose_alike(host: Callable[..., str]) -> None:
    host("""
from weft.opencl.geometry import good_size

source = "kernel void k(global uint *o) { for (int d = 0; d < 3; d++) o[d] = SIZE(d); }"
for standard, name in (("CL1.2", "get_local_size"), ("CL3.0", "get_enqueued_local_size")):
    kernel = cl.Program(context, source).build(f"-cl-std={standard} -DSIZE={name}").k
    for size in ((1000,), (1009,), (640, 480), (1031, 3), (6, 10, 15)):
        o = buffer(np.zeros(3, np.uint32))
        cl.enqueue_nd_range_kernel(queue, (kernel.set_args(o), kernel)[1], size, None)
        chosen = tuple(read(o, np.zeros(3, np.uint32)).tolist())
        mine = (*good_size(size, standard == "CL1.2"), 1, 1)[:3]
        assert chosen == mine, (standard, size, chosen, mine)
""")
