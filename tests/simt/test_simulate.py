"""Small kernels whose cycles and transactions are counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from weft import cuda
from weft.diag.errors import LaunchError, SettingError
from weft.interp import Memory, Program, launch
from weft.ir.reader import read_module
from weft.machine.gpu_devices import DEVICES, Unit
from weft.simt import Coalescing, simulate
from weft.simt.places import Space

# Round numbers: an instruction issues in 1 cycle and takes 10, memory takes 100, and nothing else is in the way.
PLAIN = replace(
    DEVICES["gtx570"],
    issue=100.0, interval=1, cycles=dict.fromkeys(Unit, 0.001), latency=dict.fromkeys(Unit, 10.0), shared_latency=20,
    hit_latency=20, memory_latency=100, transaction=1, bandwidth=1e9, multiprocessors=1,
)  # fmt: skip

HEAD = """
declare i64 @weft.local.id(i32)
declare void @weft.barrier()
declare ptr addrspace(3) @weft.shared(i32)
define void @k(ptr %x) "weft.kernel" "weft.shared"="4096:4" {
"""


def run(body, x, block=32, grid=1, device=PLAIN, **options):
    module = read_module(HEAD + body + "}\n")
    memory = Memory()
    address = memory.map_array(x)
    return simulate(
        module, "k", [address], (grid, 1, 1), (block, 1, 1), device, memory=memory, registers=8, **options
    )


ADD_ONE = """
  %t = call i64 @weft.local.id(i32 0)          ; issues at 0, there at 10
  %p = getelementptr float, ptr %x, i64 %t     ; waits for %t: issues at 10, there at 20
  %v = load float, ptr %p                      ; issues at 20, there at 120
  %w = fadd float %v, 1.0                      ; issues at 120, there at 130
  store float %w, ptr %p                       ; issues at 130
  ret void                                     ; issues at 131
"""


def test_a_warp_waits_for_its_operands():
    x = np.zeros(32, np.float32)
    found = run(ADD_ONE, x)
    assert found.cycles == 132 and found.limit == "latency"
    assert (x == 1).all()
    assert (found.issued, found.threads, found.lane_use) == (6, 192, 1.0)
    load = found.total(Space.GLOBAL, "load")
    assert (load.requests, load.transactions, load.lines, load.hits) == (1, 4, 1, 0)


def test_other_warps_hide_latency_until_a_unit_is_busy():
    x = np.zeros(1024, np.float32)
    assert run(ADD_ONE, x, 1024).cycles == 132
    slow = replace(PLAIN, issue=1.0)
    assert run(ADD_ONE, x, 1024, device=slow).cycles == 6 * 32
    narrow = replace(PLAIN, bandwidth=16.0)
    found = run(ADD_ONE, x, 1024, device=narrow)
    assert found.cycles == 2 * 4096 / 16 and found.limit == "bandwidth of memory"


def test_work_groups_run_as_many_at_a_time_as_fit():
    x = np.zeros(32, np.float32)
    body = ADD_ONE.replace("store float %w, ptr %p", "fence seq_cst")
    found = run(body, x, 32, grid=16)
    # Eight work-groups of a warp are the most that this architecture holds.
    assert found.occupancy.blocks == 8 and found.occupancy.limit == "blocks"
    assert found.cycles == 2 * run(body, x, 32).cycles


def test_both_ways_of_a_divergent_branch_are_issued():
    body = """
  %t = call i64 @weft.local.id(i32 0)
  %c = icmp ult i64 %t, 8
  br i1 %c, label %a, label %b
a:
  %v = add i32 1, 2
  br label %e
b:
  %w = add i32 3, 4
  br label %e
e:
  ret void
"""
    found = run(body, np.zeros(1, np.float32))
    # Comparing 64 bits is two instructions; jumps are free.
    assert found.issued == 1 + 2 + 1 + 1 + 1 + 1
    assert found.threads == 32 * 4 + 8 + 24 + 32


def test_a_barrier_waits_for_the_last_warp():
    body = """
  %t = call i64 @weft.local.id(i32 0)
  %c = icmp ult i64 %t, 32
  br i1 %c, label %slow, label %e
slow:
  %v = load volatile float, ptr %x
  %w = fadd float %v, %v
  br label %e
e:
  call void @weft.barrier()
  ret void
"""
    found = run(body, np.zeros(1, np.float32), 64)
    # %t to 10, %c two in a row to 30, the branch issues at 30, the load at 31, the sum at 131; the barrier at 132.
    assert found.cycles == 134
    alone = run(body.replace("ult i64 %t, 32", "ult i64 %t, 0"), np.zeros(1, np.float32), 64)
    assert alone.cycles == 33


@pytest.mark.parametrize(("padding", "turns"), [(0, 32), (1, 1)])
def test_conflicts_of_a_transpose(padding, turns):
    @cuda.jit
    def transpose(a, b):
        tile = cuda.shared.array((32, 32 + padding), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = a[y, x]
        cuda.syncthreads()
        b[y, x] = tile[x, y]

    a, b = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
    found = transpose.simulate(1, (32, 32), a, b, device="h200")
    assert (b == a.T).all()
    assert found.total(Space.SHARED, "load").transactions == 32 * turns
    assert found.total(Space.SHARED, "store").transactions == 32
    assert found.total(Space.GLOBAL).transactions == 2 * 32 * 4


def test_local_memory_is_cached_and_global_memory_is_not():
    @cuda.jit
    def kernel(x, n):
        own = cuda.local.array(64, np.float32)
        i = cuda.grid(1)
        for k in range(n):
            own[k] = x[i] * k
        total = np.float32(0)
        for k in range(n):
            total += own[k]
        x[i] = total

    x = np.ones(256, np.float32)
    small = kernel.simulate(1, 256, x, 8, device="gtx570", registers=20)
    local = small.total(Space.LOCAL, "load")
    # Eight warps keep 8 words of 128 bytes each: 8 KiB of 16.
    assert local.requests == 64 and local.hits == local.transactions == 256
    assert small.total(Space.GLOBAL, "load").hits == 0
    large = kernel.simulate(1, 256, x, 64, device="gtx570", registers=20)
    assert large.total(Space.LOCAL, "load").hits < 0.5 * large.total(Space.LOCAL, "load").transactions
    cached = kernel.simulate(1, 256, x, 32, device="gtx570-48k", registers=20)
    assert cached.total(Space.LOCAL, "load").hits == cached.total(Space.LOCAL, "load").transactions


def test_threads_at_one_address_go_one_after_the_other():
    body = "  %v = atomicrmw add ptr %x, i32 1 monotonic\n  %w = add i32 %v, 1\n  ret void\n"
    x = np.zeros(1, np.int32)
    # The last of 32 threads has its value 31 transactions later.
    assert run(body, x).cycles == 100 + 31 + 1 + 1
    assert x[0] == 32


def test_report_and_sensitivity():
    found = run(ADD_ONE, np.zeros(32, np.float32), sensitivity=True)
    assert found.sensitivity["latency of memory halved"] == (132 - 50) / 132
    assert found.sensitivity["latency of memory doubled"] == (132 + 100) / 132
    assert found.sensitivity["first cache halved"] == 1
    text = str(found)
    assert "132 cycles" in text and "predicted, not measured" in text and "limited by latency" in text


def test_refusals():
    @cuda.jit
    def kernel(x):
        x[0] = 1

    with pytest.raises(SettingError, match="gtx570"):
        kernel.simulate(1, 1, np.zeros(1), device="gtx9000")
    with pytest.raises(LaunchError, match="registers"):
        kernel.simulate(1, 1024, np.zeros(1), device="gtx570", registers=64)


def test_lines_of_global_accesses():
    def module_of(index):
        return read_module(
            "declare i64 @weft.local.id(i32)\ndefine void @k(ptr %x) {\n  %t = call i64 @weft.local.id(i32 0)\n"
            f"  %i = {index}\n  %p = getelementptr float, ptr %x, i64 %i\n  store float 1.0, ptr %p\n  ret void\n}}\n"
        )

    for index, lines in (
        ("add i64 %t, 0", 1),
        ("mul i64 %t, 2", 2),
        ("mul i64 %t, 32", 32),
        ("and i64 %t, 0", 1),
    ):
        seen = Coalescing()
        launch(Program(module_of(index)), "k", [np.zeros(4096, np.float32)], 1, 64, width=32, hooks=[seen])
        (found,) = seen.accesses.values()
        assert (found.requests, found.threads) == (2, 64)
        assert found.per_request == lines
