"""Parts of vectorization that are left out: the code differs, what it computes does not, whatever the door."""

import itertools
import re

import numpy as np
import pytest

import weft
from pairs import WHOLE
from weft import cuda, prange
from weft.errors import PassError
from weft.jit_options import JitOptions
from weft.loops.llvm_ir import vectorize_ir
from weft.options import CompileOptions
from weft.passes.runner import Runner
from weft.runtime.code_key import code_key
from weft.switches import OPTIONAL_PASSES, Switches
from weft.target.machine import TargetSpec

COLUMNS = {
    "naive": {"uniform_values": False, "uniform_control": False, "scalar_counters": False, "boscc": "off"},
    "UniVal": {"uniform_control": False, "boscc": "off"},
    "BOSCC": {"uniform_control": False, "boscc": "on"},
    "UniCF": {"boscc": "off"},
    "all": {},
}


def steps(n, k, table):
    total = 0
    for j in range(k):
        if k % 3 == 1:
            total += table[j] * n
        elif n % 2:
            total += table[j]
    while n > 1:
        n //= 2
        total += 1
    return total


def kernel(numbers, table, k, out):
    i = cuda.grid(1)
    if i < numbers.size:
        out[i] = device(numbers[i], k, table)


def shared(numbers, table, k, out):
    tile = cuda.shared.array(32, dtype=np.int64)
    i = cuda.threadIdx.x
    tile[i] = numbers[i]
    cuda.syncthreads()
    total = 0
    for j in range(k):
        total += tile[(i + j) % 32]
        if k > 2:
            cuda.syncthreads()
    out[i] = total


def loop(numbers, table, k, out):
    for i in prange(numbers.size):
        out[i] = function(numbers[i], k, table)


device = cuda.jit(device=True)(steps)
function = weft.jit(steps)
NUMBERS, TABLE = np.arange(1, 38), np.arange(3, 10)


@pytest.mark.parametrize(
    ("column", "k"), [(c, k) for n, c in enumerate(COLUMNS) for k in (4, 5) if WHOLE or n % 2 == k % 2]
)
def test_kernels_and_loops_compute_the_same(column, k):
    wanted = [steps(n, k, TABLE) for n in NUMBERS.tolist()]
    for run in (
        cuda.jit(width=8, **COLUMNS[column])(kernel)[2, 20],
        weft.jit(width=8, **COLUMNS[column])(loop),
    ):
        out = np.zeros(37, np.int64)
        run(NUMBERS, TABLE, k, out)
        assert out.tolist() == wanted


@pytest.mark.parametrize("column", COLUMNS)
def test_kernels_with_barriers_compute_the_same(column):
    out, numbers = np.zeros(32, np.int64), np.arange(32) ** 2
    cuda.jit(width=8, **COLUMNS[column])(shared)[1, 32](numbers, TABLE, 5, out)
    assert out.tolist() == [sum(numbers[(i + j) % 32] for j in range(5)) for i in range(32)]


@pytest.mark.parametrize("column", COLUMNS)
def test_elementwise_functions_compute_the_same(column):
    def halvings(n, k):
        for _ in range(k):
            n = n // 2 if n % 2 == 0 else n
        return n

    made = weft.vectorize(width=8, **COLUMNS[column])(halvings)
    assert made(NUMBERS, 5).tolist() == [halvings(n, 5) for n in NUMBERS.tolist()]


SUMS = """
define void @sums(ptr noalias %a, ptr noalias %out, i64 %n, i64 %i) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %latch ]
  %total = phi i64 [ 0, %entry ], [ %more, %latch ]
  %odd = and i64 %k, 1
  %is.odd = icmp ne i64 %odd, 0
  br i1 %is.odd, label %add, label %latch
add:
  %row = mul i64 %k, 64
  %at = add i64 %row, %i
  %from = getelementptr i64, ptr %a, i64 %at
  %value = load i64, ptr %from
  %sum = add i64 %total, %value
  br label %latch
latch:
  %more = phi i64 [ %sum, %add ], [ %total, %loop ]
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, %n
  br i1 %again, label %loop, label %done
done:
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %more, ptr %to
  ret void
}
"""


def code(**switches) -> str:
    made = vectorize_ir(SUMS, "sums", width=8, args="U_U_U_C", boscc="off", switches=Switches(**switches))
    found = re.search(r"^define [^\n]*@_ZGV.*?^}", made._text, re.M | re.S)
    assert found is not None
    return found.group(0)


def test_uniform_control_keeps_branches():
    # A machine without masked loads has a function for them.
    masked = re.compile(r"@(llvm\.masked|weft)\.load")
    assert not masked.search(code()) and masked.search(code(uniform_control=False))


def test_scalar_counters_are_no_vectors():
    vectors = re.compile(r"phi <8 x i64>")
    assert (
        len(vectors.findall(code()))
        < len(vectors.findall(code(uniform_values=False, scalar_counters=False))) + 1
    )
    assert "and <8 x i64>" in code(uniform_values=False, uniform_control=False)
    assert "and <8 x i64>" not in code()


def test_what_is_asked_for_has_to_exist():
    with pytest.raises(weft.errors.SignatureError, match="no option uniform"):
        weft.jit(uniform=False)(loop)


@pytest.mark.parametrize("options", [CompileOptions, JitOptions])
def test_code_of_each_column_is_kept_apart(options):
    switches = {Switches(*parts) for parts in itertools.product((True, False), repeat=3)}
    keys = {code_key("door", steps, (), options(switches=s), TargetSpec.chosen()) for s in switches}
    assert len(keys) == 8 and None not in keys


WITHOUT = ("boscc", "narrowing", "conditions", "known-numbers", "narrow-phis")


def doors():
    """What a user writes in each door, as functions of `without`."""
    types = "(int64[:], int64[:], int64, int64[:])"

    def of_kernel(**options):
        cuda.jit(width=8, **options)(kernel).compile(f"void{types}").lowered()

    def of_loop(**options):
        made = weft.jit(f"void{types}", width=8, **options)(loop)
        next(iter(made.overloads.values())).lowered()

    def of_elementwise(**options):
        def halves(n):
            return n // 2 if n % 3 == 0 else n // 5 + n // 7

        weft.vectorize(width=8, **options)(halves)(NUMBERS)

    def of_function(**options):
        vectorize_ir(SUMS, "sums", width=8, args="U_U_U_C", boscc="on", **options)

    return of_kernel, of_loop, of_elementwise, of_function


@pytest.mark.parametrize("door", doors(), ids=["kernel", "loop", "elementwise", "function"])
def test_optional_passes_are_left_out_by_name(door, monkeypatch):
    ran: list[str] = []
    run = Runner.run

    def spy(self, passes, unit):
        passes = tuple(passes)
        ran.extend(p.name for p in passes if p.optional and p.name not in self.left_out and p.applies(unit))
        run(self, passes, unit)

    monkeypatch.setattr(Runner, "run", spy)
    door()
    assert ran
    ran.clear()
    door(without=WITHOUT)
    assert not set(ran) & {OPTIONAL_PASSES[name] for name in WITHOUT}
    with pytest.raises(PassError, match="no optional pass 'widening'") as refused:
        door(without=("widening",))
    assert "narrow-phis" in (refused.value.hint or "")


def test_what_is_left_out_counts_in_the_key_of_code():
    spec = TargetSpec.chosen()
    first, again, other = (
        code_key("kernel", kernel, (), CompileOptions(switches=Switches(without=names)), spec)
        for names in (("boscc", "narrow-phis"), ("narrow φs", "boscc"), ("boscc",))
    )
    assert first == again != other


def test_kernels_and_loops_compute_the_same_without_optional_passes():
    wanted = [steps(n, 5, TABLE) for n in NUMBERS.tolist()]
    for run in (cuda.jit(without=WITHOUT)(kernel)[2, 20], weft.jit(without=WITHOUT)(loop)):
        out = np.zeros(37, np.int64)
        run(NUMBERS, TABLE, 5, out)
        assert out.tolist() == wanted
