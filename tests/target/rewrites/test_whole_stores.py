"""Masked stores that ask first whether all lanes of a register store, on cores where they are slow."""

import numpy as np
import pytest
from msgspec.structs import replace

from codegen.kernels import kernel_text
from codegen.machine_code import compile_kernel
from pairs import pairs
from weft import cuda, interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.cores import core_of
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.rewrites import whole_stores
from weft.target.rewrites.whole_stores import with_whole_stores

CALL = "  call void @llvm.masked.store.v{n}{t}.p0(<{n} x {t}> %v, ptr %p, <{n} x i1> {m})\n"
ZEN = replace(AVX2, core=core_of("znver3"))


@pytest.mark.parametrize(
    ("lanes", "type", "changes"), [(8, "i32", True), (4, "i32", False), (32, "i8", False)]
)
def test_whole_registers_ask(lanes: int, type: str, changes: bool) -> None:
    text = CALL.format(n=lanes, t=type, m="%m")
    assert (with_whole_stores(text, ZEN) != text) == changes
    for isa in (AVX2, SSE2, replace(AVX512, core=core_of("znver4"))):
        assert with_whole_stores(text, isa) == text
    constant = CALL.format(n=lanes, t=type, m="splat (i1 true)")
    assert with_whole_stores(constant, ZEN) == constant


@pytest.mark.parametrize(
    ("width", "type", "guard"),
    pairs([8, 16, 32], ["i32", "i64", "float", "double"], ["%odd", "%few", "%not"]),
)
def test_lanes_store_under_their_masks(width: int, type: str, guard: str) -> None:
    body = f"""
  %odd = trunc i64 %tid to i1
  %few = icmp slt i64 %tid, %n
  %not = xor i1 %few, true
  %k = getelementptr {type}, ptr %in, i64 %tid
  %v = load {type}, ptr %k
  br i1 {guard}, label %then, label %exit
then:
  %to = getelementptr {type}, ptr %out, i64 %tid
  store {type} %v, ptr %to
  br label %exit
exit:"""
    text = kernel_text(body)
    given = np.random.default_rng(3).integers(0, 256, 1024, np.uint8)
    program, compiled = Program(read_module(text)), compile_kernel(text, width, ZEN)
    for n in (0, 1, 8, 37, 64):
        wanted, got = np.zeros(1024, np.uint8), np.zeros(1024, np.uint8)
        interp.launch(program, "kernel", (given, wanted, n, 0), 1, 64, width=width)
        compiled((given, got, n, 0), 64)
        np.testing.assert_array_equal(got, wanted)


def test_shared_memory_is_written_back() -> None:
    text = CALL.format(n=16, t="f32", m="%m").replace(".p0(", ".p3(").replace("ptr %p", "ptr addrspace(3) %p")
    changed = with_whole_stores(text, ZEN)
    assert "@weft.store.shared.v16f32(<16 x f32> %v" in changed
    assert changed.count("select <8 x i1>") == 2 and "masked.store.v8" not in changed
    assert with_whole_stores(changed, ZEN) == changed
    for isa in (AVX2, SSE2):
        assert with_whole_stores(text, isa) == text


def stores_here_and_there(chosen, out, far):
    """Threads store before and behind their own places, and next to each end of what is shared."""
    shared = cuda.shared.array(64, np.float32)
    bytes = cuda.shared.array(8, np.int64)
    t = cuda.threadIdx.x
    shared[t] = t
    if t < 8:
        bytes[t] = -t
    cuda.syncthreads()
    if chosen[t] and t >= far:
        shared[t - far] += 100
    cuda.syncthreads()
    if chosen[63 - t] and t + far < 64:
        shared[t + far] *= 2
        if t + far > 60:
            bytes[t + far - 56] = t
    cuda.syncthreads()
    out[t] = shared[t] + bytes[t % 8]


@pytest.mark.spread
@pytest.mark.parametrize(("width", "far"), pairs([8, 16, 32], [0, 1, 7, 31, 60]))
def test_threads_store_what_is_shared(width: int, far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        whole_stores, "asks_before_stores", lambda isa: isa.masked_memory and not isa.mask_registers
    )
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    monkeypatch.setenv("WEFT_CACHE", "0")
    kernel = cuda.jit(stores_here_and_there, width=width)
    for share in (0.0, 0.2, 0.7, 1.0):
        chosen = np.random.default_rng(far).random(64) < share
        out, t = np.zeros(64, np.float32), np.arange(64)
        kernel[1, 64](chosen, out, far)
        shared, bytes = t.astype(np.float32), -np.arange(8)
        before = t[chosen & (t >= far)]
        shared[before - far] += 100
        behind = t[chosen[::-1] & (t + far < 64)]
        shared[behind + far] *= 2
        ends = behind[behind + far > 60]
        bytes[ends + far - 56] = ends
        np.testing.assert_array_equal(out, shared + bytes[t % 8])
