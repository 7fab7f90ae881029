"""Loops that look indices up are left for a copy where one of these counts from the end (`front_loops`)."""

import os

import numpy as np
import pytest

import weft
from weft import cuda
from weft.graph.loops import loop_forest
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.front_loops import leave_for_the_end

#  before:                              after:
#  entry ──> head <──────┐              entry ──> head <─────────┐
#             │ └─> body ─┤                        │ └─> body ──> body.front
#            done  inner ─┘                        │      │ (negative)
#                                                 done    └──> body.end <── body' <── head' <─┐
#                                                  ^            └─────────────────────────────┤
#                                                  └──────────────────────────────── head' ───┘
CHASE = """
define i64 @f(ptr %next, i64 %n, ptr %value, i64 %m, i64 %rounds) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %at = phi i64 [ 0, %entry ], [ %to, %body ]
  %total = phi i64 [ 0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %k, %rounds
  br i1 %more, label %body, label %done
body:
  %scaled = mul i64 %total, 3
  %negative = icmp slt i64 %at, 0
  %back = select i1 %negative, i64 %n, i64 0
  %place = add i64 %at, %back
  %p = getelementptr i32, ptr %next, i64 %place
  %loaded = load i32, ptr %p
  %to = sext i32 %loaded to i64
  %back2 = select i1 %negative, i64 %m, i64 0
  %place2 = add i64 %at, %back2
  %q = getelementptr i64, ptr %value, i64 %place2
  %x = load i64, ptr %q
  %sum = add i64 %scaled, %x
  %k1 = add nuw nsw i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""

NEXT = [3, 1, 4, -1, 5, -6, 2]
VALUES = [2, 7, 1, 8, 2, 8, 1, 8]


def wanted(rounds: int) -> int:
    at = total = 0
    for _ in range(rounds):
        total = (3 * total + VALUES[at]) & (1 << 64) - 1
        at = NEXT[at]
    return total


def run(module: Module, rounds: int) -> int:
    memory = Memory()
    following, values = np.array(NEXT, np.int32), np.array(VALUES, np.int64)
    arguments = [
        *(memory.map_array(following), len(NEXT)),
        *(memory.map_array(values), len(VALUES)),
        rounds,
    ]
    outcome = run_function(Program(module), "f", arguments, 1, memory=memory)
    return int(outcome.data[0])


def test_the_loop_does_not_ask_and_its_copy_does() -> None:
    module = read_module(CHASE)
    function = module.functions["f"]
    assert leave_for_the_end(function) == 1
    verify(module)
    assert is_loop_closed(function)
    loops = loop_forest(cfg_of(function).cfg).loops
    assert len(loops) == 2 and not any(loop.is_irreducible for loop in loops)
    text = write_module(module)
    front, end = text.split("head.1:")
    assert front.count("icmp slt") == 1 and "select" not in front
    assert end.count("select") == 2
    assert "branch_weights" in text
    assert leave_for_the_end(function) == 0


@pytest.mark.parametrize("rounds", [0, 1, 3, 4, 5, 9, 20])
def test_it_goes_on_in_the_midst_of_an_iteration(rounds: int) -> None:
    module = read_module(CHASE)
    before = run(module, rounds)
    assert leave_for_the_end(module.functions["f"]) == 1
    assert run(module, rounds) == before == wanted(rounds)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # An index that is counted, a number that is for no address, and a loop that hardly runs.
        ("%to = sext i32 %loaded to i64", "%to = add i64 %at, 1"),
        (
            "%p = getelementptr i32, ptr %next, i64 %place",
            "%p = getelementptr i32, ptr %next, i64 %at\n  %use = icmp eq i64 %place, %place2",
        ),
        ("br label %head\ndone", "br label %head, !llvm.loop !0\ndone"),
    ],
)
def test_other_loops_have_no_copy(old: str, new: str) -> None:
    text = CHASE.replace(old, new)
    if "%use" in text:
        text = text.replace("ptr %value, i64 %place2", "ptr %value, i64 %at")
    if "!0" in text:
        text += '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 false}\n'
    assert text != CHASE
    assert leave_for_the_end(read_module(text).functions["f"]) == 0


NIBBLES = """
define i64 @f(ptr %bytes, i64 %m, ptr %table) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi i64 [ 0, %entry ], [ %sum, %body ]
  %more = icmp ult i64 %k, %m
  br i1 %more, label %body, label %done
body:
  %p = getelementptr i8, ptr %bytes, i64 %k
  %byte = load i8, ptr %p
  %half = lshr i8 %byte, COUNT
  %index = zext i8 %half to i64
  %q = getelementptr i64, ptr %table, i64 %index
  %x = load i64, ptr %q
  %sum = add i64 %total, %x
  %next = add nuw nsw i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""


@pytest.mark.parametrize(("count", "copies"), [(4, 0), (6, 0), (7, 1)])
def test_the_upper_half_of_a_byte_is_no_question_for_its_sign(count: int, copies: int) -> None:
    module = read_module(NIBBLES.replace("COUNT", str(count)))
    assert leave_for_the_end(module.functions["f"]) == copies
    verify(module)


@cuda.jit(width=1)
def walk_kernel(left, right, keys, queries, found):
    i = cuda.grid(1)
    if i < found.size:
        stack = cuda.local.array(16, np.int32)
        stack[0] = 0
        top = 1
        seen = 0.0
        for _ in range(12):
            if top == 0:
                break
            top -= 1
            node = stack[top]
            seen = 0.5 * seen + keys[node, 0]
            for d in range(keys.shape[1]):
                seen += queries[i, d] * keys[node, d]
            if top < 14:
                stack[top] = left[node]
                stack[top + 1] = right[left[node]]
                top += 2 if seen < 8.0 else 1
        found[i] = seen


@weft.jit(width=1)
def walk_loop(left, right, keys, queries, found):
    for i in weft.prange(found.size):
        stack = np.empty(16, np.int32)
        stack[0] = 0
        top = 1
        seen = 0.0
        for _ in range(12):
            if top == 0:
                break
            top -= 1
            node = stack[top]
            seen = 0.5 * seen + keys[node, 0]
            for d in range(keys.shape[1]):
                seen += queries[i, d] * keys[node, d]
            if top < 14:
                stack[top] = left[node]
                stack[top + 1] = right[left[node]]
                top += 2 if seen < 8.0 else 1
        found[i] = seen


@pytest.mark.spread
@pytest.mark.parametrize("walk", [walk_kernel[1, 32], walk_loop], ids=["kernel", "loop"])
@pytest.mark.parametrize("negative", [0.0, 0.1, 1.0])
def test_walks_over_nodes_that_count_from_the_end(walk, negative: float) -> None:
    rng = np.random.default_rng(7)
    for nodes, columns in ((1, 1), (7, 2), (40, 5)):
        left, right = rng.integers(0, nodes, (2, nodes)).astype(np.int32)
        for links in (left, right):
            links[rng.random(nodes) < negative] -= nodes
        # Halves and quarters add up without an error, in any order.
        keys, queries = rng.integers(-2, 3, (nodes, columns)) / 2, rng.integers(-2, 3, (32, columns)) / 2
        found, plain = np.zeros(32), np.zeros(32)
        walk(left, right, keys, queries, found)
        walk_loop.py_func(left, right, keys, queries, plain)
        assert found.tolist() == plain.tolist()


class Walks:
    """A random loop over places in three tables, some of which count from the end."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.count = 0

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def look_up(self, place: str) -> str:
        table = self.rng.integers(3)
        negative = self.new(f"icmp slt i64 {place}, 0")
        back = self.new(f"select i1 {negative}, i64 {8 + table}, i64 0")
        index = self.new(f"add i64 {place}, {back}")
        at = self.new(f"getelementptr i8, ptr %t{table}, i64 {index}")
        return self.new(f"sext i8 {self.new(f'load i8, ptr {at}')} to i64")

    def block(self, label: str) -> str:
        self.lines.append(f"{label}:")
        return label

    def statement(self, known: list[str], block: str) -> tuple[str, str]:
        """A further value, and the block that comes to it."""
        one, other, third = (str(self.rng.choice(known)) for _ in range(3))
        kind = self.rng.integers(4)
        if kind == 0:
            return self.look_up(one), block
        if kind == 1:
            return self.new(
                f"select i1 {self.new(f'icmp slt i64 {one}, {other}')}, i64 {other}, i64 {third}"
            ), block
        self.count += 1
        n = self.count
        if kind == 2:
            less = self.new(f"icmp slt i64 {one}, {other}")
            self.lines.append(f"  br i1 {less}, label %then{n}, label %behind{n}")
            self.block(f"then{n}")
            found = self.look_up(third)
            self.lines.append(f"  br label %behind{n}")
            self.block(f"behind{n}")
            return self.new(f"phi i64 [ {found}, %then{n} ], [ {one}, %{block} ]"), f"behind{n}"
        self.lines.append(f"  br label %inner{n}")
        self.block(f"inner{n}")
        self.lines.append(f"  %c{n} = phi i64 [ 0, %{block} ], [ %d{n}, %inner{n} ]")
        self.lines.append(f"  %p{n} = phi i64 [ {one}, %{block} ], [ %q{n}, %inner{n} ]")
        self.lines.append(f"  %q{n} = add i64 {self.look_up(f'%p{n}')}, 0")
        self.lines.append(f"  %d{n} = add i64 %c{n}, 1\n  %e{n} = icmp ult i64 %d{n}, 3")
        self.lines.append(f"  br i1 %e{n}, label %inner{n}, label %behind{n}")
        self.block(f"behind{n}")
        return self.new(f"phi i64 [ %q{n}, %inner{n} ]"), f"behind{n}"

    def program(self) -> str:
        known, block = ["%a", "%b"], "body"
        for _ in range(self.rng.integers(2, 8)):
            value, block = self.statement(known, block)
            known.append(value)
        first, second = (str(self.rng.choice(known[1:])) for _ in range(2))
        body = "\n".join(self.lines)
        return f"""
define i64 @f(ptr %t0, ptr %t1, ptr %t2, i64 %rounds) {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %{block} ]
  %a = phi i64 [ 1, %entry ], [ {first}, %{block} ]
  %b = phi i64 [ 2, %entry ], [ {second}, %{block} ]
  %total = phi i64 [ 0, %entry ], [ %sum, %{block} ]
  %more = icmp ult i64 %k, %rounds
  br i1 %more, label %body, label %done
body:
{body}
  %scaled = mul i64 %total, 5
  %sum = add i64 %scaled, {known[-1]}
  %k1 = add i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}}
"""


PROGRAMS = 400 if os.environ.get("WEFT_FUZZ") else 20


def test_random_walks_come_to_the_same_place() -> None:
    rng, copied = np.random.default_rng(23), 0
    for _ in range(PROGRAMS):
        text = Walks(rng).program()
        module = read_module(text)
        function = module.functions["f"]
        close_loops(function)
        copied += leave_for_the_end(function)
        verify(module)
        assert is_loop_closed(function)
        assert not any(loop.is_irreducible for loop in loop_forest(cfg_of(function).cfg).loops)
        for seldom in (0.0, 0.2, 1.0):
            tables = [rng.integers(0, 8, 8 + n) for n in range(3)]
            tables = [np.where(rng.random(t.size) < seldom, t - 8, t).astype(np.int8) for t in tables]
            found = []
            for program in (read_module(text), module):
                memory = Memory()
                arguments = [*map(memory.map_array, tables), 9]
                found.append(int(run_function(Program(program), "f", arguments, 1, memory=memory).data[0]))
            assert found[0] == found[1], text
    assert copied > PROGRAMS
