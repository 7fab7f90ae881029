"""Random kernels of loops over arrays: what scalar replacement looks for, and what it has to keep its hands off.

Nested counted loops that test at the head or at the latch, up or down, by constants, by what is the same for all
threads, or by what differs; branches on either, on conditions that were tested before, and on several at once;
accesses ``a[i + c]``, ``a[i*s + j + c]``, ``a[(i + c)*T + t]``, with `s` a parameter. The arrays: one that is only
read; one of which each thread has its own slice; one whose neighbouring
elements belong to neighbouring threads; a stack object; shared memory, which threads write at their own places and
read at others' between barriers. No program has a race. All numbers are small, so that nothing wraps.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

THREADS = 8
REACH = 64
"""Elements of a slice on either side of its middle."""

_HEAD = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare void @weft.barrier() convergent nounwind willreturn
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare void @unknown() nounwind willreturn
define void @kernel(ptr {noalias}%given, ptr {noalias}%own, ptr {noalias}%woven, i32 noundef %n, i64 noundef %s)
"weft.kernel" "weft.shared"="{shared}:8" {{ entry: %t = call i64 @weft.local.id(i32 0) %t32 = trunc i64 %t to i32
%stack = alloca [{cells} x i32]
"""


@dataclass(slots=True)
class ArrayLoops:
    """Writes one program.

    Parameters
    ----------
    rng
        Decides.
    depth
        How deep loops and branches nest.
    statements
        How many a block of them has at most.
    """

    rng: random.Random
    depth: int = 3
    statements: int = 4
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=lambda: ["%n", "7"])
    counters: list[tuple[str, int, int]] = field(default_factory=list)
    conditions: list[tuple[str, bool]] = field(default_factory=list)
    label: str = "entry"
    converged: bool = True
    barriers: bool = False
    _names: int = 0

    def text(self) -> str:
        """The program."""
        self.barriers = self.rng.random() < 0.35
        self._emit_line("; the thread's own parts")
        self._emit_line(f"%slice = getelementptr i32, ptr %own, i64 {REACH}")
        self._emit_line(f"%far = mul i64 %t, {2 * REACH}")
        self._emit_line("%mine = getelementptr i32, ptr %slice, i64 %far")
        self._emit_line(f"%mid = getelementptr [{2 * REACH} x i32], ptr %stack, i64 0, i64 {REACH}")
        self._emit_line("%tile = call ptr addrspace(3) @weft.shared(i32 0)")
        self.values.append("%t32")
        self._fill_stack()
        self._block(self.depth)
        total = self.values[0]
        for value in self.values[1:][-6:]:
            total = self._emit(f"add i32 {total}, {value}")
        place = self._emit(f"getelementptr i32, ptr %mine, i64 {REACH - 1}")
        self._emit_line(f"store i32 {total}, ptr {place}")
        self._emit_line("ret void")
        noalias = "noalias " if self.rng.random() < 0.7 else ""
        head = _HEAD.format(noalias=noalias, shared=4 * THREADS, cells=2 * REACH)
        return head + "\n".join(self.lines) + "\n}\n"

    def _fill_stack(self) -> None:
        """Store to all elements, some of them by stores of their own: branches may depend on what is read there."""
        self._emit_line("br label %fill")
        self._start("fill")
        self._emit_line("%cell = phi i64 [ 0, %entry ], [ %cell.next, %fill ]")
        self._emit_line("%filled.place = getelementptr i32, ptr %stack, i64 %cell")
        self._emit_line("%filled.value = trunc i64 %cell to i32")
        self._emit_line("store i32 %filled.value, ptr %filled.place")
        self._emit_line("%cell.next = add nsw i64 %cell, 1")
        self._emit_line(f"%cell.more = icmp slt i64 %cell.next, {2 * REACH}")
        self._emit_line("br i1 %cell.more, label %fill, label %filled")
        self._start("filled")
        for k in self.rng.sample(range(-3, 9), 3):
            place = self._emit(f"getelementptr i32, ptr %mid, i64 {k}")
            self._emit_line(f"store i32 {k}, ptr {place}")

    def _name(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def _emit(self, text: str) -> str:
        name = self._name()
        self.lines.append(f"  {name} = {text}")
        return name

    def _emit_line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def _start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def _block(self, depth: int) -> None:
        for _ in range(self.rng.randint(1, self.statements)):
            kinds = [self._load, self._load, self._load, self._store, self._number, self._window]
            weights = [4, 4, 4, 3, 1, 3]
            if self.barriers and self.converged:
                kinds.append(self._exchange)
                weights.append(3)
            kinds.append(self._order)
            weights.append(0.4)
            if depth:
                kinds += [lambda: self._loop(depth - 1), lambda: self._branch(depth - 1)]
                weights += [5, 5]
            self.rng.choices(kinds, weights)[0]()

    def _number(self) -> None:
        op = self.rng.choice(("add", "xor", "mul"))
        a, b = self.rng.choice(self.values), self.rng.choice(self.values)
        self.values.append(self._emit(f"{op} i32 {a}, {b}"))

    def _index(self) -> str:
        """An i64 of absolute value less than 30."""
        rng = self.rng
        offset = rng.randint(-2, 2)
        if not self.counters or rng.random() < 0.15:
            return str(offset)
        name, low, high = rng.choice(self.counters[-3:])
        form = rng.random()
        if form < 0.45 or high - low > 12:
            narrow = self._emit(f"add nsw i32 {name}, {offset}") if offset else name
            return self._emit(f"sext i32 {narrow} to i64")
        wide = self._emit(f"sext i32 {name} to i64")
        if form < 0.7 and low >= 0:
            scaled = (
                self._emit(f"mul nsw i64 {wide}, %s")
                if rng.random() < 0.6
                else self._emit(f"shl nsw i64 {wide}, 1")
            )
            other, *_ = rng.choice(self.counters[-2:])
            if rng.random() < 0.5 and other != name:
                inner = self._emit(f"sext i32 {other} to i64")
                scaled = self._emit(f"add nsw i64 {scaled}, {inner}")
            return self._emit(f"add nsw i64 {scaled}, {offset}") if offset else scaled
        return self._emit(f"add nsw i64 {wide}, {offset}") if offset else wide

    def _place(self, writes: bool) -> str:
        index = self._index()
        kind = self.rng.choice(
            ("given", "given", "own", "own", "woven", "stack")
            if not writes
            else ("own", "own", "woven", "stack")
        )
        if kind == "given":
            base = self._emit(f"getelementptr i32, ptr %given, i64 {self.rng.choice(('%t', '0', '3'))}")
            middle = self._emit(f"getelementptr i32, ptr {base}, i64 {REACH}")
            return self._emit(f"getelementptr i32, ptr {middle}, i64 {index}")
        if kind == "woven":
            row = self._emit(f"add nsw i64 {index}, {REACH}")
            start = self._emit(f"mul nsw i64 {row}, {THREADS}")
            cell = self._emit(f"add nsw i64 {start}, %t")
            return self._emit(f"getelementptr i32, ptr %woven, i64 {cell}")
        return self._emit(f"getelementptr i32, ptr {'%mid' if kind == 'stack' else '%mine'}, i64 {index}")

    def _load(self) -> None:
        volatile = "volatile " if self.rng.random() < 0.03 else ""
        self.values.append(self._emit(f"load {volatile}i32, ptr {self._place(False)}"))

    def _window(self) -> None:
        """Neighbouring elements along the innermost loop, as stencils and filters read them."""
        if not self.counters:
            return
        wide = self._emit(f"sext i32 {self.counters[-1][0]} to i64")
        base = self._emit(f"getelementptr i32, ptr %given, i64 {self.rng.choice(('%t', '0'))}")
        if self.rng.random() < 0.4:
            base = "%mine"
        first = REACH * (base != "%mine") + self.rng.randint(-1, 1)
        total = self.values[0]
        for k in range(self.rng.randint(2, 3)):
            index = self._emit(f"add nsw i64 {wide}, {first + k}")
            place = self._emit(f"getelementptr i32, ptr {base}, i64 {index}")
            read = self._emit(f"load i32, ptr {place}")
            total = self._emit(f"add i32 {total}, {read}")
        self.values.append(total)

    def _masked_window(self, condition: str) -> None:
        """The same in an arm, on a condition that the loop may leave as it is."""
        self._names += 1
        then, join = f"then{self._names}", f"join{self._names}"
        self._emit_line(f"br i1 {condition}, label %{then}, label %{join}")
        source, before = self.label, len(self.values)
        self._start(then)
        self._window()
        kept = self.values[-1]
        self._emit_line(f"br label %{join}")
        del self.values[before:]
        self._start(join)
        self.values.append(self._emit(f"phi i32 [ {kept}, %{then} ], [ 0, %{source} ]"))

    def _store(self) -> None:
        volatile = "volatile " if self.rng.random() < 0.03 else ""
        self._emit_line(f"store {volatile}i32 {self.rng.choice(self.values)}, ptr {self._place(True)}")

    def _order(self) -> None:
        kind = self.rng.random()
        if kind < 0.3:
            self._emit_line("fence seq_cst")
        else:
            order = self.rng.choice(("monotonic", "acq_rel"))
            self._emit(f"atomicrmw add ptr {self._place(True)}, i32 {self.rng.choice(self.values)} {order}")

    def _exchange(self) -> None:
        """Write the own place of shared memory, and read another thread's behind a barrier."""
        mine = self._emit("getelementptr i32, ptr addrspace(3) %tile, i64 %t")
        self._emit_line(f"store i32 {self.rng.choice(self.values)}, ptr addrspace(3) {mine}")
        if self.rng.random() < 0.3:
            self.values.append(self._emit(f"load i32, ptr addrspace(3) {mine}"))
        self._emit_line("call void @weft.barrier()")
        for _ in range(self.rng.randint(1, 2)):
            moved = self._emit(f"add i64 %t, {self.rng.randint(0, 3)}")
            other = self._emit(f"and i64 {moved}, {THREADS - 1}")
            place = self._emit(f"getelementptr i32, ptr addrspace(3) %tile, i64 {other}")
            self.values.append(self._emit(f"load i32, ptr addrspace(3) {place}"))
        self._emit_line("call void @weft.barrier()")

    def _condition(self) -> tuple[str, bool]:
        """A condition, and whether it is the same for all threads."""
        rng = self.rng
        if self.conditions and rng.random() < 0.35:
            condition, uniform = rng.choice(self.conditions[-4:])
            if rng.random() < 0.3:
                other, same = self._new_condition()
                form = rng.choice(
                    ("and i1 {}, {}", "select i1 {}, i1 {}, i1 false", "select i1 {}, i1 true, i1 {}")
                )
                return self._emit(form.format(condition, other)), uniform and same
            if rng.random() < 0.2:
                return self._emit(f"xor i1 {condition}, true"), uniform
            return condition, uniform
        condition = self._new_condition()
        self.conditions.append(condition)
        return condition

    def _new_condition(self) -> tuple[str, bool]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            return self._emit(f"icmp sgt i32 %n, {rng.randint(0, 5)}"), True
        if kind < 0.5 and self.counters and self.converged:
            return self._emit(f"icmp slt i32 {self.counters[-1][0]}, {rng.randint(0, 3)}"), False
        bit = self._emit(
            f"and i32 {'%t32' if kind < 0.75 else rng.choice(self.values)}, {rng.choice((1, 2, 4))}"
        )
        return self._emit(f"icmp eq i32 {bit}, 0"), False

    def _branch(self, depth: int) -> None:
        rng, converged = self.rng, self.converged
        condition, uniform = self._condition()
        self._names += 1
        number = self._names
        arms = rng.choice((1, 2, 2))
        self.converged = converged and uniform
        then, otherwise, join = f"then{number}", f"else{number}", f"join{number}"
        targets = (then, otherwise if arms == 2 else join)
        if rng.random() < 0.5:
            targets = targets[::-1]
        self._emit_line(f"br i1 {condition}, label %{targets[0]}, label %{targets[1]}")
        source, before, tested = self.label, len(self.values), len(self.conditions)
        ends: list[tuple[str, str]] = [] if arms == 2 else [(rng.choice(self.values), source)]
        for label in (then, otherwise)[:arms]:
            self._start(label)
            self._block(depth)
            ends.append((rng.choice(self.values), self.label))
            self._emit_line(f"br label %{join}")
            del self.values[before:]
            del self.conditions[tested:]
        self._start(join)
        self.values.append(self._emit("phi i32 " + ", ".join(f"[ {v}, %{b} ]" for v, b in ends)))
        self.converged = converged

    def _bound(self) -> tuple[str, int, bool]:
        kind = self.rng.random()
        if kind < 0.45:
            trips = self.rng.randint(1, 4)
            return str(trips), trips, True
        if kind < 0.8:
            return "%n", 6, True
        return self._emit(f"and i32 %t32, {self.rng.choice((1, 3))}"), 3, False

    def _loop(self, depth: int) -> None:
        rng, converged = self.rng, self.converged
        bound, most, uniform = self._bound()
        number = self._names
        self._names += 1
        head, body, latch, out = (f"{part}{number}" for part in ("head", "body", "latch", "exit"))
        before = f"%i{number}"
        self.converged = converged and uniform
        start, step = rng.choice(((0, 1), (0, 1), (1, 1), (0, 2)))
        at_latch = rng.random() < 0.35
        carried = rng.choice(self.values)
        masked = self._condition()[0] if rng.random() < 0.3 else None
        source, count, tested = self.label, len(self.values), len(self.conditions)
        self._emit_line(f"br label %{head}")
        self._start(head)
        marker = len(self.lines)
        if not at_latch:
            self._emit_line(f"%more{number} = icmp slt i32 {before}, {bound}")
            self._emit_line(f"br i1 %more{number}, label %{body}, label %{out}")
            self._start(body)
        self.values.append(f"%carried{number}")
        self.counters.append((before, 0, most + 2))
        if masked is not None:
            self._masked_window(masked)
        if masked is None or rng.random() < 0.5:
            self._block(depth)
        kept = rng.choice(self.values)
        if rng.random() < 0.7:
            for value in self.values[count + 1 :][-4:]:
                kept = self._emit(f"xor i32 {kept}, {value}")
        self._emit_line(f"br label %{latch}")
        self._start(latch)
        self._emit_line(f"%next{number} = add nsw i32 {before}, {step}")
        if at_latch:
            self._emit_line(f"%more{number} = icmp slt i32 %next{number}, {bound}")
            self._emit_line(f"br i1 %more{number}, label %{head}, label %{out}")
        else:
            self._emit_line(f"br label %{head}")
        self.lines[marker:marker] = [
            f"  {before} = phi i32 [ {start}, %{source} ], [ %next{number}, %{latch} ]",
            f"  %carried{number} = phi i32 [ {carried}, %{source} ], [ {kept}, %{latch} ]",
        ]
        self.counters.pop()
        del self.values[count:]
        del self.conditions[tested:]
        self._start(out)
        self.values.append(
            self._emit(
                f"phi i32 [ {kept if at_latch else f'%carried{number}'}, %{latch if at_latch else head} ]"
            )
        )
        self.converged = converged


def array_program(seed: int) -> str:
    """The program of a seed; every fourth one is a large one."""
    rng = random.Random(f"array loops {seed}")
    large = seed % 4 == 0
    return ArrayLoops(rng, rng.randint(1, 3 if large else 2), rng.randint(2, 5 if large else 3)).text()
