"""PTX of kernels in the Python dialect: what becomes what, parameters, refusals, the command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import cuda
from weft.cli import main
from weft.cuda.to_ptx import ptx_of
from weft.diag.errors import SettingError, UnresolvedError
from weft.frontend.python.signatures import parse_signature
from weft.machine.cuda_tools import find_libdevice

pytestmark = pytest.mark.optimized

needs_libdevice = pytest.mark.skipif(
    find_libdevice() is None, reason="libdevice (nvidia-nvvm) is not installed"
)
TABLE = np.arange(4, dtype=np.float32)


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def body(text):
    """The instructions of a module, without declarations and blank lines."""
    start = text.index("{\n", text.index(".entry"))
    lines = (re.sub(r"\s+", " ", line).strip() for line in text[start:].splitlines())
    return [line for line in lines if line and not line.startswith((".reg", "//", "{", "}", "$"))]


def test_saxpy():
    text = saxpy.inspect_ptx("void(float32, float32[::1], float32[::1])", lines=False)
    assert ".version 6.3\n.target sm_75\n" in text
    assert ".visible .entry saxpy(" in text
    assert body(text) == [
        "ld.param.b64 %rd4, [saxpy_param_1];",
        "cvta.to.global.u64 %rd1, %rd4;",
        "ld.param.b64 %rd5, [saxpy_param_3];",
        "cvta.to.global.u64 %rd2, %rd5;",
        "ld.param.b64 %rd6, [saxpy_param_2];",
        "mov.u32 %r2, %ctaid.x;",
        "mov.u32 %r3, %ntid.x;",
        "mul.wide.u32 %rd7, %r2, %r3;",
        "mov.u32 %r4, %tid.x;",
        "cvt.u64.u32 %rd8, %r4;",
        "add.s64 %rd3, %rd7, %rd8;",
        "setp.ge.u64 %p1, %rd3, %rd6;",
        "@%p1 bra $L__BB0_2;",
        "ld.param.b32 %r1, [saxpy_param_0];",
        "shl.b64 %rd9, %rd3, 2;",
        "add.s64 %rd10, %rd1, %rd9;",
        "ld.global.b32 %r5, [%rd10];",
        "mul.rn.f32 %r6, %r1, %r5;",
        "add.s64 %rd11, %rd2, %rd9;",
        "ld.global.b32 %r7, [%rd11];",
        "add.rn.f32 %r8, %r6, %r7;",
        "st.global.b32 [%rd11], %r8;",
        "ret;",
    ]


def text_of(function, signature, arch="sm_90", **options):
    return ptx_of(function, parse_signature(f"void({signature})").args, arch, lines=False, **options).text


def test_barriers_shared_memory_atomics_and_fences():
    def kernel(x, n):
        static = cuda.shared.array(32, np.float32)
        dynamic = cuda.shared.array(0, np.int32)
        t = cuda.threadIdx.x
        static[t] = x[t]
        cuda.syncthreads()
        x[t] = static[31 - t] + TABLE[t & 3] + cuda.syncthreads_count(x[t] > 1)
        cuda.atomic.add(x, 0, 1.0)
        cuda.atomic.add(dynamic, 0, n)
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()

    lines = "\n".join(body(text := text_of(kernel, "float32[::1], int32")))
    assert ".extern .shared .align 16 .b8 kernel_shared[];" in text
    for part in (
        ".shared .align 64 .b8 kernel_shared_0[128];", "bar.sync 0;", "bar.red.popc.u32", "red.global.add.f32",
        "red.shared.add.u32", "fence.sc.cta;", "fence.sc.gpu;", "fence.sc.sys;", "ld.global.nc.b32",
    ):  # fmt: skip
        assert part in lines or part.replace("red.", "atom.", 1) in lines, part


def test_warp_functions_name_their_threads():
    def kernel(x, mask):
        t = cuda.grid(1)
        v = cuda.shfl_down_sync(mask, x[t], 2) + cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 1)
        v += cuda.shfl_up_sync(0xFFFFFFFF, x[t], 3) + cuda.shfl_sync(0xFFFFFFFF, x[t], 5)
        if cuda.any_sync(mask, v > 0) and cuda.all_sync(mask, v > 1) and cuda.eq_sync(mask, v > 2):
            v += cuda.ballot_sync(mask, v > 3) + cuda.activemask() + cuda.lanemask_lt() + cuda.laneid
        cuda.syncwarp(0xFF)
        every, same = cuda.match_all_sync(mask, t)
        x[t] = v + cuda.match_any_sync(mask, t) + every + same

    lines = "\n".join(body(text_of(kernel, "int64[::1], uint32")))
    for part in (
        "shfl.sync.down.b32", "shfl.sync.bfly.b32", "shfl.sync.up.b32", "shfl.sync.idx.b32", "vote.sync.any.pred",
        "vote.sync.all.pred", "vote.sync.uni.pred", "vote.sync.ballot.b32", "activemask.b32", "%lanemask_lt",
        "%laneid", "bar.warp.sync 255;", "match.all.sync.b64", "match.any.sync.b64",
    ):  # fmt: skip
        assert part in lines, part
    # Both halves of 64 bits move, and only where the mask says so.
    assert len(re.findall(r"shfl.sync.down.b32 \S+ \S+ 2, 31, %r\d+;", lines)) == 2
    assert len(re.findall(r"shfl.sync.up.b32 \S+ \S+ 3, 0, -1;", lines)) == 2


def test_print_is_vprintf_with_a_format():
    def kernel(x):
        print("x", x[0], (1, True), x[0] > 2)

    text = text_of(kernel, "float32[::1]")
    format = "%s %.17g %s%lld%s%s%s %s\n"
    assert ", ".join(map(str, format.encode())) + "}" in text
    assert "call.uni (retval0), vprintf, (param0, param1);" in text


@needs_libdevice
def test_mathematics_comes_from_libdevice():
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = np.sin(x[i]) + np.hypot(x[i], y[i]) + np.sqrt(x[i]) + x[i] % y[i]

    exact = text_of(kernel, "float32[::1], float32[::1]")
    fast = text_of(kernel, "float32[::1], float32[::1]", fastmath=True)
    assert ".extern .func" not in exact + fast
    assert "sin.approx" in fast and "sin.approx" not in exact
    assert "sqrt.rn" in exact and "sqrt.approx.ftz.f32" not in exact
    assert len(fast) < len(exact)


def test_without_libdevice_the_error_names_functions_and_package(monkeypatch):
    monkeypatch.setattr("weft.target.libdevice.find_libdevice", lambda: None)

    def kernel(x):
        x[0] = np.exp(x[0]) + np.tanh(x[0])

    with pytest.raises(UnresolvedError, match=r"__nv_exp\(\), __nv_tanh\(\)(.|\n)*nvidia-nvvm") as caught:
        text_of(kernel, "float64[::1]")
    assert caught.value.symbols == ("__nv_exp", "__nv_tanh")


def test_parameters_are_laid_out_as_arrays_are_passed():
    def kernel(flag, a, x, pair, z):
        if flag:
            a[0, 0] = x[0] + pair[0] + pair[1][0] + z.real

    types = parse_signature(
        "void(boolean, float64[:, :], float32[::1], Tuple((int32, int64[::1])), complex64)"
    ).args
    made = ptx_of(kernel, types, "sm_75")
    assert tuple(each.size for each in made.parameters) == (1, 8, 8, 8, 8, 8, 8, 8, 4, 8, 8, 4, 4)
    table = made.table()
    assert [line.split()[3] for line in table.splitlines()[1:]] == [
        "flag", "a", "a.shape.0", "a.shape.1", "a.strides.0", "a.strides.1", "x", "x.shape.0", "pair.0", "pair.1",
        "pair.1.shape.0", "z.real", "z.imag",
    ]  # fmt: skip
    assert len(re.findall(r"\.param", made.text[: made.text.index("{\n")])) == 13


def test_names_that_ptx_cannot_have():
    def größe(x):
        x[0] = 1

    assert ".entry gr_uf6__udf_e(" in text_of(größe, "int32[::1]")


def test_refusals_say_why():
    def kernel(x):
        x[0] = 1

    with pytest.raises(SettingError, match="no PTX is made for sm_60"):
        text_of(kernel, "int32[::1]", "sm_60")
    with pytest.raises(SettingError, match="'sm_99' is no architecture"):
        text_of(kernel, "int32[::1]", "sm_99")


def test_lines_and_registers(tmp_path):
    text = saxpy.inspect_ptx("void(float32, float32[::1], float32[::1])", "sm_90", max_registers=32)
    line = saxpy.py_func.__code__.co_firstlineno
    assert re.search(rf"\.loc\s+1 {line + 4} ", text) and f'"{__file__}"' in text
    assert ".maxnreg 32" in text and ".section\t.debug_info" not in text


def test_command(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(
        "from weft import cuda\n\n@cuda.jit('void(int32[::1])')\ndef one(x):\n    x[cuda.grid(1)] = 1\n\n"
        "@cuda.jit\ndef two(x):\n    x[cuda.grid(1)] = 2\n"
    )
    out = tmp_path / "one.ptx"
    assert main(["ptx", str(file), "--kernel", "one", "--arch", "sm_90", "-o", str(out)]) == 0
    assert ".target sm_90" in out.read_text() and capsys.readouterr().out == ""
    assert main(["ptx", str(file), "--kernel", "two", "--types", "void(int8[::1])", "--parameters"]) == 0
    assert "two: 2 parameters" in capsys.readouterr().out
    assert main(["ptx", str(file), "--kernel", "two"]) == 1
    assert "the argument types of two(x) are not known" in capsys.readouterr().err
    assert main(["ptx", str(file)]) == 1
    assert "choose one with --kernel: one, two" in capsys.readouterr().err
    assert main(["ptx", "absent.py"]) == 2


def test_conformance_kernels_are_assembled_and_run():
    done = subprocess.run(
        [sys.executable, "-m", "conformance.ptx"],
        cwd=Path(__file__).parent.parent, env={**os.environ, "WEFT_CHECK": "0"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_was_written_runs_here():
    def kernel(rows, values, n):
        i = cuda.grid(1)
        if i < n:
            rows[1, i] = values[i] + cuda.shfl_xor_sync(0xFFFFFFFF, values[i], 1)
            rows[0, i] = -values[i] // 3

    values = np.arange(32, dtype=np.uint8)
    rows = np.zeros((2, 32), np.uint8)
    types = parse_signature("void(uint8[:, ::1], uint8[::1], int64)").args
    # Extents are no addresses, though bytes of the second row begin at one more than the other.
    module = weft.ptx.Module(ptx_of(kernel, types, "sm_75").text)
    module.kernel[1, 32](rows, 2, 32, values, 32, 32)
    wanted = np.zeros((2, 32), np.uint8)
    cuda.jit(kernel)[1, 32](wanted, values, 32)
    assert (rows == wanted).all() and wanted.any()


def window(x, out):
    t = cuda.grid(1)
    total = np.float32(0)
    for i in range(1, x.shape[0] - 1):
        total += x[i - 1, t] * x[i, t] + x[i + 1, t]
    out[t] = total


def blur(x, out):
    t = cuda.grid(1)
    for i in range(1, x.shape[0] - 1):
        out[i, t] = x[i - 1, t] + x[i, t] + x[i + 1, t]


WINDOW = "void(float32[:, ::1], float32[::1])"


def loaded(text):
    """Loads of a launch of 64 threads over 66 rows, each with 64 numbers, and what it wrote."""
    kernel = weft.ptx.Module(text)["window"]
    out = np.zeros(64, np.float32)
    x = np.random.default_rng(0).random((66, 64)).astype(np.float32)
    given = [
        value if isinstance(value, int) or about.passing == "buffer" else 0
        for value, about in zip((x, 66, 64, out, 64), kernel.info.arguments, strict=True)
    ]
    simulation = kernel.simulate(2, 32, *given)
    return sum(a.counts.requests for a in simulation.accesses if a.kind == "load"), out


def test_loads_are_replaced_where_that_pays():
    texts = {
        policy: cuda.jit(window, scalar_replacement=policy).inspect_ptx(WINDOW) for policy in ("off", "ssrqp")
    }
    assert cuda.jit(window).inspect_ptx(WINDOW) == texts["ssrqp"]
    assert cuda.jit(window, without=["scalar replacement"]).inspect_ptx(WINDOW) == texts["off"]
    (off, wanted), (few, got) = map(loaded, texts.values())
    # One load a row and warp, though LLVM has seen those of neighbouring rows it unrolled.
    assert few == 2 * 66 < 0.7 * off and (got == wanted).all() and wanted.any()
    # Lines are those of the source, as before.
    first = window.__code__.co_firstlineno
    lines = {int(line) for line in re.findall(r"\.loc\s+1 (\d+) ", texts["ssrqp"])}
    assert first + 4 in lines and lines <= {0, *range(first, first + 6)}


def test_arrays_may_overlap_on_a_gpu():
    signature = "void(float32[:, ::1], float32[:, ::1])"
    made = [cuda.jit(blur, scalar_replacement=p).inspect_ptx(signature) for p in ("off", "ssrqp")]
    assert made[0] == made[1]


def test_the_command_replaces_loads_by_the_policy_it_is_told(tmp_path, capsys):
    file = tmp_path / "window.cu"
    file.write_text(
        "__global__ void window(const float *__restrict__ x, float *__restrict__ out, int n) {\n"
        "    const int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (int i = 1; i < n; i++)\n"
        "        out[i * 64 + t] = x[(i - 1) * 64 + t] + x[i * 64 + t] + x[(i + 1) * 64 + t];\n}\n"
    )
    texts = []
    for more in ([], ["--scalar-replacement", "off"], ["--scalar-replacement", "ssrqp"]):
        assert main(["ptx", str(file), "--no-lines", *more]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[2] != texts[1]
