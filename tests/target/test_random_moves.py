"""LLVM's passes before analysis leave what random programs do: elements of two arrays that change places in loops.

Counters begin at 0 and indices often are 0, so that places which turn out to be others are one at first: NewGVN goes
on from there (`weft.target.newgvn`).
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize

PROGRAMS = 4000 if os.environ.get("WEFT_FUZZ") else 40
PARTS = 4
LENGTH = 6


class Moves:
    """A function of two arrays, and of numbers n and m, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._lines: list[str] = []
        self._block = "entry"
        self._count = 0
        self._counters: list[str] = ["%m"]
        self._values: list[str] = ["7"]
        for _ in range(self._draw.choice((1, 2, 2))):
            self._statement(3)
        body = "\n".join(self._lines)
        self.text = f"define void @f(ptr %a, ptr %b, i64 %n, i64 %m) {{\nentry:\n{body}\n  ret void\n}}\n"

    def _name(self, what: str) -> str:
        self._count += 1
        return f"%{what}{self._count}"

    def _put(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def _begin(self, block: str) -> None:
        self._lines.append(f"{block[1:]}:")
        self._block = block[1:]

    def _statement(self, depth: int) -> None:
        kinds = [self._move, self._load, self._store, self._swap]
        if depth:
            kinds += [self._loop, self._loop, self._choice]
        self._draw.choice(kinds)(depth)

    def _some(self, depth: int) -> None:
        """Statements whose values are known to each other only."""
        known = len(self._values)
        for _ in range(self._draw.choice((1, 1, 2, 3))):
            self._statement(depth)
        del self._values[known:]

    def _place(self) -> str:
        """The address of an element that is there."""
        array = self._draw.choice(("%a", "%a", "%a", "%b"))
        index = self._draw.choice(("0", "0", "1", *self._counters, *self._counters))
        change = self._draw.choice((None, None, "add", "xor", "and"))
        if change is not None and index.startswith("%"):
            changed, kept = self._name("c"), self._name("c")
            self._put(f"{changed} = {change} i64 {index}, 1")
            self._put(f"{kept} = urem i64 {changed}, {LENGTH}")
            index = kept
        place = self._name("p")
        self._put(f"{place} = getelementptr i64, ptr {array}, i64 {index}")
        return place

    def _load(self, depth: int) -> None:
        place, value = self._place(), self._name("v")
        self._put(f"{value} = load i64, ptr {place}")
        self._values.append(value)

    def _store(self, depth: int) -> None:
        place = self._place()
        value = self._draw.choice((*self._values, *self._counters, *self._values[-2:]))
        self._put(f"store i64 {value}, ptr {place}")

    def _move(self, depth: int) -> None:
        self._load(depth)
        self._put(f"store i64 {self._values[-1]}, ptr {self._place()}")

    def _swap(self, depth: int) -> None:
        one, other = self._place(), self._place()
        values = self._name("v"), self._name("v")
        places = [one, other]
        for value, place in zip(values, places, strict=True):
            self._put(f"{value} = load i64, ptr {place}")
        if self._draw.random() < 0.5:
            places.reverse()
            values = values[::-1]
        self._put(f"store i64 {values[1]}, ptr {places[0]}")
        if self._draw.random() < 0.3:
            self._load(depth)
        self._put(f"store i64 {values[0]}, ptr {places[1]}")

    def _loop(self, depth: int) -> None:
        head, body, latch, done = (self._name(what) for what in ("head", "body", "latch", "done"))
        counter, following, more = self._name("i"), self._name("i"), self._name("more")
        bound = self._draw.choice((str(LENGTH), "%n", "%n", "3"))
        self._put(f"br label {head}")
        before = self._block
        self._begin(head)
        self._put(f"{counter} = phi i64 [ 0, %{before} ], [ {following}, {latch} ]")
        self._put(f"{more} = icmp slt i64 {counter}, {bound}")
        self._put(f"br i1 {more}, label {body}, label {done}")
        self._begin(body)
        self._counters.append(counter)
        self._some(depth - 1)
        self._counters.pop()
        self._put(f"br label {latch}")
        self._begin(latch)
        self._put(f"{following} = add nuw nsw i64 {counter}, 1")
        self._put(f"br label {head}")
        self._begin(done)

    def _choice(self, depth: int) -> None:
        test, then, done = self._name("c"), self._name("then"), self._name("done")
        value = self._draw.choice((*self._values, *self._counters))
        self._put(
            f"{test} = icmp {self._draw.choice(('slt', 'eq', 'ne'))} i64 {value}, {self._draw.choice((0, 1, 9))}"
        )
        self._put(f"br i1 {test}, label {then}, label {done}")
        self._begin(then)
        self._some(depth - 1)
        self._put(f"br label {done}")
        self._begin(done)


def run(text: str, n: int, m: int, shared: bool) -> list[list[int]]:
    memory = Memory()
    arrays = [np.arange(LENGTH) + 10, np.arange(LENGTH) + 20]
    places = [memory.map_array(array) for array in arrays]
    places[1] = places[0] if shared else places[1]
    run_function(Program(read_module(text)), "f", [*places, n, m], 1, memory=memory)
    return [array.tolist() for array in arrays]


@pytest.mark.parametrize("part", range(PARTS))
def test_elements_are_where_they_were(part: int) -> None:
    machine = TargetSpec.host().machine
    for seed in range(part, PROGRAMS, PARTS):
        text = Moves(seed).text
        made = optimize(text, CANONICAL, machine)
        for n, m, shared in ((LENGTH, 2, False), (4, 0, True), (1, 1, False)):
            assert run(made, n, m, shared) == run(text, n, m, shared), (
                f"seed {seed}, n = {n}, m = {m}, {shared}\n{text}"
            )
