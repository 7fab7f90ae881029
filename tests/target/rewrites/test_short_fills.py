"""Runs of equal bytes are written without branches where they are short (`short_fills`)."""

import re

import numpy as np
import pytest

import weft
from codegen.machine_code import X86_64, spec_of
from weft import cuda
from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.target.machine import emit_assembly
from weft.target.passes import FINAL
from weft.target.rewrites.short_fills import SHORT, with_short_fills

CALL = "  call void @llvm.memset.p0.i64(ptr align 1 %p, i8 {byte}, i64 {size}, i1 {volatile})\n"


@cuda.jit
def decode_kernel(values, starts, result):
    i = cuda.grid(1)
    if i < values.size:
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


@weft.jit
def decode_loop(values, starts, result):
    for i in weft.prange(values.size):
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


@pytest.mark.parametrize("decode", [decode_kernel[1, 64], decode_loop], ids=["kernel", "loop"])
@pytest.mark.parametrize("backwards", [False, True])
def test_runs_of_all_lengths_are_written_and_nothing_behind_them(decode, backwards: bool) -> None:
    lengths = np.arange(2 * SHORT)[:: -1 if backwards else 1]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values, result = np.arange(lengths.size, dtype=np.uint8), np.full(starts[-1] + SHORT, 255, np.uint8)
    # The last runs are left out: what is behind the others stays.
    decode(values[:-3], starts[:-2], result)
    wanted = np.repeat(values[:-3], lengths[:-3])
    assert (result[: wanted.size] == wanted).all() and (result[wanted.size :] == 255).all()


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
def test_only_runs_of_unknown_length_are_written_at_once(isa: Isa) -> None:
    run = CALL.format(byte="%x", size="%n", volatile="false")
    stored = with_short_fills(run, isa)
    assert "call void @weft.fill(ptr align 1 %p, i8 %x, i64 %n, i1 false)" in stored
    assert stored.count("define internal void @weft.fill") == 1
    assert ("llvm.masked.store" in stored) == (isa is AVX512)
    for other in ({"size": "24", "volatile": "false"}, {"size": "%n", "volatile": "true"}):
        known = CALL.format(byte="0", **other)
        assert with_short_fills(known, isa) == known


def test_other_processors_call_the_library() -> None:
    run = CALL.format(byte="%x", size="%n", volatile="false")
    assert with_short_fills(run, NEON) == run


def test_how_short_a_run_is_is_asked_by_no_branch_but_whether_it_is() -> None:
    text = (
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        "define void @f(ptr %p, i8 %x, i64 %n) {\n"
        + CALL.format(byte="%x", size="%n", volatile="false")
        + "  ret void\n}\n"
    )
    for isa in X86_64:
        spec = spec_of(isa)
        if spec.isa is not isa:
            continue
        code = emit_assembly(with_short_fills(text, isa), spec, FINAL)
        branches = [line for line in code.splitlines() if re.match(r"\s+j(?!mp)", line)]
        assert len(branches) == 1
