"""Conditions to leave a loop whose parts are the same in all lanes: one branch for these, one for the others."""

import numpy as np
import pytest

from weft import cuda, opencl

THREADS = 48
CONDITIONS = (
    "k < n && s < b[i]",
    "s < b[i] && k < n",
    "s < b[i] && k < n && s != 5",
    "k < n && (s < b[i] || k == 2)",
    "(k < 4) | (s < b[i])",
    "!(k >= n || s >= b[i])",
    "(k < n) & (s < b[i]) & (k != m)",
)
BODIES = ("while ({}) {{ s += x[k]; k++; }}", "do {{ s += x[k]; k++; }} while ({});")


def kernel(condition: str, body: str) -> str:
    return f"""(G const int *x, G const int *b, G int *y, G int *z, int n, int m) {{
    int i = I, k = 0, s = 0;
    {body.format(condition)}
    y[i] = s; z[i] = k;
}}"""


def of_opencl(text: str, **options):
    head = "#define G global\n#define I get_global_id(0)\nkernel void f"
    kernel = opencl.Program(head + text, **options).kernel("f")
    return kernel, lambda *args: kernel((THREADS,), (16,), *args)


def of_cuda(text: str, **options):
    head = '#define G\n#define I blockIdx.x * blockDim.x + threadIdx.x\nextern "C" __global__ void f'
    kernel = cuda.Module(head + text, **options).f
    return kernel, lambda *args: kernel[THREADS // 16, 16](*args)


def in_python(condition: str, body: str, x, b, n: int, m: int):
    text = condition.replace("&&", "and").replace("||", "or").replace("!(", "not (").replace("b[i]", "b")
    y, z = np.zeros(THREADS, np.int32), np.zeros(THREADS, np.int32)
    for i in range(THREADS):
        k = s = 0
        going = body.startswith("do")
        while going or eval(text, {"k": k, "s": s, "b": b[i], "n": n, "m": m}):
            s, k, going = s + int(x[k]), k + 1, False
        y[i], z[i] = s, k
    return y, z


@pytest.mark.spread
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("door", [of_opencl, of_cuda])
def test_threads_leave_where_the_source_says_so(door, condition):
    x = np.array([1, 2, 1, 1, 3, 1, 2, 1, *[1] * 40], np.int32)
    b = np.random.default_rng(3).integers(0, 20, THREADS).astype(np.int32)
    for body in BODIES:
        _, run = door(kernel(condition, body))
        for n, m in ((5, 3), (30, 100), (0, 0), (8, 0)):
            y, z = np.zeros(THREADS, np.int32), np.zeros(THREADS, np.int32)
            run(x, b, y, z, n, m)
            wanted = in_python(condition, body, x, b, n, m)
            assert list(y) == list(wanted[0]) and list(z) == list(wanted[1]), (body, n, m)


@pytest.mark.parametrize("condition", ["(s < b[i]) & (k < n)", "(k < n) & (s < b[i]) & (k != m)"])
def test_what_lanes_share_has_an_exit_of_its_own(condition):
    x, b, y, z = (np.ones(THREADS, np.int32) for _ in range(4))
    told = []
    for options in ({}, {"without": ("uniform-exits",)}):
        compiled, run = of_opencl(kernel(condition, BODIES[0]), **options)
        run(x, b, y, z, 5, 0)
        told.append(" ".join(str(remark) for remark in compiled.remarks))
    assert "1 of its 2 exits is divergent" in told[0]
    assert "its exit is divergent" in told[1]
