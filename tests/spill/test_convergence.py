"""When threads of a warp may share a slot, and that slots hold where threads are independent."""

import random
import re

import numpy as np
import pytest

import weft
from generators.ptx_kernels import ROW, random_kernel
from spill import interleaving
from spill.programs import SHARED_COUNTER, UNIFORM_COUNTER, kernel
from spill.runs import with_spilled
from weft.diag.errors import SanitizerError
from weft.ptx.reader import read_module
from weft.ptx.regalloc.places import WarpSlot
from weft.spill.convergence import Sharing
from weft.spill.kernel import Kernel
from weft.spill.module import spill

N = 5


def sharing(text: str, register: str, arch: str = "sm_75") -> Sharing:
    return Kernel.of(read_module(text, "k.ptx"), "k", arch=arch).values[register].sharing


def test_a_counter_of_a_loop_that_threads_leave_apart_is_not_shared() -> None:
    assert sharing(SHARED_COUNTER, "%r0") is Sharing.NO
    assert sharing(SHARED_COUNTER, "%r0", "sm_61") is Sharing.LOCK_STEP


def test_what_is_written_once_is_shared_even_in_an_arm() -> None:
    text = kernel("""
  ld.param.u32 %r0, [n];
  setp.lt.u32 %p0, %i, 5;
  @%p0 bra L;
  add.u32 %r1, %r0, 1;
  st.global.u32 [%out], %r1;
L:
  st.global.u32 [%out+4], %r0;
""")
    assert sharing(text, "%r0") is Sharing.ONCE and sharing(text, "%r1") is Sharing.ONCE


def test_stores_under_uniform_control_are_synchronized_where_threads_have_parted() -> None:
    assert sharing(UNIFORM_COUNTER, "%r0") is Sharing.SYNCED
    made = with_spilled(UNIFORM_COUNTER, "%r0", "affine")
    assert "bar.warp.sync 4294967295;" in made.text


def test_without_parting_nothing_is_synchronized() -> None:
    text = UNIFORM_COUNTER.replace("@%p1 bra M;", "")
    assert sharing(text, "%r0") is Sharing.CONVERGED


def test_a_barrier_brings_threads_together() -> None:
    text = UNIFORM_COUNTER.replace("@%p0 bra L;", "bar.sync 0;\n  @%p0 bra L;")
    assert sharing(text, "%r0") is Sharing.CONVERGED


def test_a_branch_to_the_end_parts_nobody() -> None:
    text = kernel("""
  setp.gt.u32 %p2, %i, 50;
  @%p2 bra E;
""" + UNIFORM_COUNTER.partition("[out];")[2].partition("add.u64 %out, %out, %d7;")[2].replace("@%p1 bra M;", "")
        .replace("  ret;\n}", "E:"))  # fmt: skip
    assert sharing(text, "%r0") is Sharing.CONVERGED


def test_a_guarded_write_of_some_threads_is_not_shared() -> None:
    text = kernel("""
  mov.u32 %r0, 1;
  setp.lt.u32 %p0, %i, 5;
  @%p0 mov.u32 %r0, 2;
  st.global.u32 [%out], %r0;
""")
    assert sharing(text, "%r0") is Sharing.NO


def interleaved(text: str, seed: int) -> np.ndarray:
    out = np.zeros(2 * 64, np.uint32)
    text = text.replace("ld.param.u32 %r2, [n];", f"mov.u32 %r2, {N};").replace("[n]", "[out]")
    interleaving.run(text, [out], 1, 64, seed)
    return out


@pytest.mark.spread
@pytest.mark.parametrize("text", [SHARED_COUNTER, UNIFORM_COUNTER])
@pytest.mark.parametrize("policy", ["div", "affine"])
def test_independent_threads_read_what_they_should(text: str, policy: str) -> None:
    wanted = np.zeros(2 * 64, np.uint32)
    weft.ptx.Module(text).k[1, 64](wanted.view(np.uint8), N)
    text = text.replace("ld.param.u32 %r2, [n];", f"mov.u32 %r2, {N};")
    made = with_spilled(text, "%r0", policy, reuse=False)
    for seed in range(6):
        np.testing.assert_array_equal(interleaved(made.text, seed), wanted)


def test_lock_step_slots_fail_where_threads_are_independent() -> None:
    """The rule of the paper is not enough since sm_70, and the interpreter shows it."""
    wanted = np.zeros(2 * 64, np.uint32)
    weft.ptx.Module(SHARED_COUNTER).k[1, 64](wanted.view(np.uint8), N)
    made = with_spilled(SHARED_COUNTER, "%r0", "div", arch="sm_61", reuse=False)
    assert isinstance(made.kernels["k"].places["%r0"], WarpSlot)
    assert any((interleaved(made.text, seed) != wanted).any() for seed in range(6))


@pytest.mark.parametrize("seed", range(3))
def test_random_kernels_with_independent_threads(seed: int) -> None:
    text = random_kernel(random.Random(seed), 32, 16, independent=True)
    x = np.random.default_rng(seed).integers(0, 200, 4 * 32, np.uint32)
    wanted, got = np.zeros(ROW * 32, np.uint32), np.zeros(ROW * 32, np.uint32)
    weft.ptx.Module(text).k[1, 32](wanted, x.copy())
    made = spill(text, 9, "affine", block=32)
    interleaving.run(made.text, [got, x.copy()], 1, 32, seed)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("policy", ["div", "affine", "hybrid"])
def test_the_sanitizer_takes_no_equal_writes_of_a_warp_for_a_race(policy: str) -> None:
    out = [np.zeros(2 * 64, np.uint32) for _ in range(2)]
    weft.ptx.Module(UNIFORM_COUNTER).k[1, 64](out[0].view(np.uint8), N)
    made = with_spilled(UNIFORM_COUNTER, "%r0", policy)
    weft.ptx.Module(made.text, debug=True).k[1, 64](out[1].view(np.uint8), N)
    np.testing.assert_array_equal(out[0], out[1])
    # Two warps that had one slot would race.
    number = re.compile(r"(shr\.u32 (%\w+), \2, )5;")
    assert number.search(made.text)
    with pytest.raises(SanitizerError, match="races with a"):
        weft.ptx.Module(number.sub(r"\g<1>9;", made.text), debug=True).k[1, 64](out[1].view(np.uint8), N)
