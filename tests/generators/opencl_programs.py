"""Random kernels of work-groups in OpenCL C.

``opencl_program(seed)`` has the text of a kernel

    kernel void k<seed>(global const uint *in, global uint *out, global uint *counts, uint u)

and its launch. Work-items exchange numbers and vectors through local memory, between barriers and without races, and
change numbers that they share by atomic operations whose order does not show. Barriers stand in loops that are left
and gone on with, in branches that a work-group takes together, and in functions that the kernel calls. Each work-item
writes `OUT_WORDS` words of ``out``, those of its number.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from generators.opencl_expressions import Expressions, Vector, vector_types

OUT_WORDS = 7
COUNTS = 16
ROOM = 64
"""Work-items of the largest work-group."""

Three = tuple[int, ...]

_LOCALS: tuple[Three, ...] = (
    (1,), (2,), (5,), (8,), (13,), (16,), (17,), (24,), (32,), (33,), (4, 4), (8, 3), (2, 9), (16, 2), (3, 3, 3),
    (4, 2, 3), (1, 1, 7), (8, 8), (64,), (1, 12),
)  # fmt: skip
_ATOMICS = ("add", "sub", "xor", "or", "and", "max", "min")


@dataclass(frozen=True, slots=True)
class OpenclProgram:
    """A kernel and what it is launched on."""

    name: str
    text: str
    size: Three
    local: Three
    offset: Three | None
    sub_groups: bool
    vector: Vector


def opencl_program(seed: int, statements: int = 4, depth: int = 3) -> OpenclProgram:
    """The kernel of a seed, with so many statements in a row at most, and control so deep."""
    rng = random.Random(f"opencl {seed}")
    types = vector_types(rng)
    local = rng.choice(_LOCALS)
    size = tuple(n * rng.choice((1, 1, 2)) + (rng.randrange(n) if rng.random() < 0.15 else 0) for n in local)
    offset = tuple(rng.randrange(5) for _ in local) if rng.random() < 0.1 else None
    # Who has returned takes no part in what a work-group does together.
    collective, leaves = rng.choice(((False, False), (True, False), (False, True)))
    helpers: dict[str, bool] = {}
    text = ""
    plan = _Plan(
        rng, types, rng.choice(_ATOMICS), rng.choice(_ATOMICS), collective, leaves, dimensions=len(local)
    )
    for k in range(rng.choice((0, 0, 1, 2))):
        name, together = f"helper{seed}_{k}", rng.random() < 0.7
        text += _Body(plan, max(1, statements - 2), helpers).function(name, depth - 1, together)
        helpers[name] = together
    body = _Body(plan, statements, helpers)
    text += body.kernel(f"k{seed}", depth)
    return OpenclProgram(f"k{seed}", text, size, local, offset, "sub_group_" in text, types[0])


@dataclass(slots=True)
class _Plan:
    """What all functions of a program share."""

    rng: random.Random
    types: tuple[Vector, Vector]
    local_atomic: str
    global_atomic: str
    collective: bool
    leaves: bool
    dimensions: int


class _Body:
    """Writes the kernel, or a function for it to call."""

    def __init__(self, plan: _Plan, statements: int, helpers: dict[str, bool]) -> None:
        self.plan = plan
        self.rng = plan.rng
        self.values = Expressions(plan.rng, plan.types)
        self.statements = statements
        self.helpers = dict(helpers)
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[bool] = []
        self.in_kernel = False

    _POINTERS = "local uint *t, local uint *c, local {one} *tv, local {element} *te"

    def function(self, name: str, depth: int, together: bool) -> str:
        one = self.plan.types[0]
        pointers = self._POINTERS.format(one=one, element=one.element)
        self.variables("x", {"mine", "a0", "b0"})
        for _ in range(self.rng.randint(1, self.statements)):
            self.statement(depth, together)
        head = f"uint {name}(global const uint *in, global uint *counts, uint u, uint n, uint x, {pointers})"
        return "\n".join([head + " {", *self.lines, f"  return {self.values.varying()};", "}", ""])

    def kernel(self, name: str, depth: int) -> str:
        self.in_kernel = True
        one, other = self.plan.types
        head = f"kernel void {name}(global const uint *in, global uint *out, global uint *counts, uint u) {{"
        for _ in range(self.rng.randint(1, self.statements)):
            self.statement(depth, together=True)
        body = "\n".join(self.lines)
        used = set(re.findall(r"\w+", body))
        self.lines = []
        self.put("uint n = get_local_size(0) * get_local_size(1) * get_local_size(2);")
        self.variables(f"in[get_global_linear_id() & {Expressions.SAME - 1}u]", used)
        self.shared(used)
        last = f"{one.width - 1:x}"
        kept = {"mine": "mine[2]", "t": "t[l]", "a0": f"(uint)(a0.s0 + a1.s{last})"}
        kept["b0"] = f"convert_uint_sat(b0.s{last})" if other.is_float else f"(uint)b0.s{last}"
        numbers = ["v0", "v1 ^ v2", "u0 + u1", *(value for key, value in kept.items() if key in used)]
        place = f"out[get_global_linear_id() * {OUT_WORDS}"
        writes = [f"  {place} + {k}] = {value};" for k, value in enumerate(numbers)]
        return "\n".join([head, *self.lines, body, *writes, "}", ""])

    def shared(self, used: set[str]) -> None:
        """Local memory, as far as it is used, and what it holds at first."""
        one = self.plan.types[0]
        arrays = {
            "t": (f"uint t[{ROOM}]", "t[l] = l;"),
            "c": ("uint c[8]", "if (l == 0) for (int k = 0; k < 8; k++) c[k] = 5;"),
            "tv": (f"{one} tv[{ROOM}]", f"tv[l] = ({one})1;"),
            "te": (f"{one.element} te[{ROOM * one.width}]", f"vstore{one.width}(({one})3, l, te);"),
        }
        for name, (declared, first) in arrays.items():
            if name in used:
                self.lines.insert(0, f"  local {declared};")
                self.put(first)
        if used & arrays.keys():
            self.barrier()

    def variables(self, first: str, used: set[str]) -> None:
        one, other = self.plan.types
        self.put("uint l = get_local_linear_id();")
        self.put(f"uint v0 = {first}, v1 = l, v2 = l * 3u + 1u, u0 = u, u1 = 3u;")
        if "mine" in used:
            self.put(f"uint mine[{Expressions.MINE}] = {{0, 1, 2, 3}};")
        if used & {"a0", "a1"}:
            used.add("a0")
            self.put(f"{one} a0 = ({one})(({one.element})l), a1 = ({one})5;")
        if "b0" in used:
            self.put(f"{other} b0 = ({other})(({other.element})(l & 31));")

    def put(self, line: str) -> None:
        self.lines.append("  " + line)

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def barrier(self) -> None:
        self.put("barrier(CLK_LOCAL_MEM_FENCE);")

    # Statements.

    def statement(self, depth: int, together: bool) -> None:
        kind = self.rng.random()
        values = self.values
        if depth > 0 and kind < 0.28:
            self.control(depth, together)
        elif together and kind < 0.52:
            self.synchronize()
        elif together and kind < 0.58 and self.plan.leaves and self.in_kernel:
            self.put(f"if (({values.varying()} & 7u) == {self.rng.randrange(8)}u) return;")
        elif kind < 0.64 and self.callable(together):
            called = self.rng.choice(self.callable(together))
            given = f"in, counts, {values.uniform()}, n, {values.varying()}, t, c, tv, te"
            self.put(f"{self.rng.choice(('v0', 'v1'))} = {called}({given});")
        elif kind < 0.68:
            self.put(
                f"atomic_{self.plan.global_atomic}(&counts[{values.varying()} & {COUNTS - 1}u], {values.varying()});"
            )
        elif kind < 0.71:
            self.put(f"v2 = atomic_xchg(&t[l], {values.varying()});")
        else:
            self.assign(together)

    def callable(self, together: bool) -> list[str]:
        return [name for name, by_all in self.helpers.items() if together or not by_all]

    def assign(self, together: bool) -> None:
        kind, values, rng = self.rng.random(), self.values, self.rng
        if kind < 0.15 and together:
            self.put(f"{rng.choice(('u0', 'u1'))} = {values.uniform()};")
        elif kind < 0.25:
            self.put(f"mine[{values.varying()} & {values.MINE - 1}u] = {values.varying()};")
        elif kind < 0.55:
            self.put(f"{rng.choice(('v0', 'v1', 'v2'))} = {values.varying()};")
        else:
            vector = rng.choice(self.plan.types)
            value = values.vector(vector)
            target = rng.choice(values.variables(vector))
            if rng.random() < 0.2:
                self.put(f"{target}.s{rng.choice('01')} = ({value}).s1;")
            else:
                self.put(f"{target} = {value};")

    def synchronize(self) -> None:
        rng, values, one = self.rng, self.values, self.plan.types[0]
        kind = rng.random()
        if kind < 0.3 and self.plan.collective:
            self.collective()
        elif kind < 0.45:
            self.put(f"atomic_{self.plan.local_atomic}(&c[{values.varying()} & 7u], {values.varying()});")
            self.barrier()
            self.put(f"{rng.choice(('v0', 'v1'))} ^= c[{values.varying()} & 7u];")
        elif kind < 0.6:
            self.put(f"tv[l] = {values.vector(one)};")
            self.barrier()
            self.put(f"a1 = tv[{self.other()}];")
        elif kind < 0.75:
            self.put(f"vstore{one.width}({values.vector(one)}, l, te);")
            self.barrier()
            self.put(f"a0 = vload{one.width}({self.other()}, te);")
        else:
            self.put(f"t[l] = {values.varying()};")
            self.barrier()
            if rng.random() < 0.3:
                self.put("for (uint k = 0; k < n; k++) v1 = v1 * 3u + t[k];")
            else:
                self.put(f"{rng.choice(('v0', 'v1', 'v2'))} = t[{self.other()}];")
        self.barrier()

    def other(self) -> str:
        """The number of a work-item."""
        moved = f"({self.rng.choice(('l', self.values.uniform()))} + {self.rng.randrange(9)}u) % n"
        return self.rng.choice(("n - 1u - l", moved, f"({self.values.varying()}) % n"))

    def collective(self) -> None:
        rng, values = self.rng, self.values
        value, ways = values.varying(), ("add", "min", "max")
        scope = rng.choice(("work_group", "work_group", "sub_group"))
        uniform = "u0" if scope == "work_group" else "v2"
        kind = rng.randrange(4)
        if kind == 0:
            self.put(f"{uniform} = {scope}_reduce_{rng.choice(ways)}({value});")
        elif kind == 1:
            way = f"{rng.choice(('inclusive', 'exclusive'))}_{rng.choice(ways)}"
            self.put(f"v0 = {scope}_scan_{way}({value});")
        elif kind == 2:
            self.put(f"{uniform} = {scope}_{rng.choice(('any', 'all'))}({values.test()});")
        else:
            places = ", ".join("0" * (1 if scope == "sub_group" else self.plan.dimensions))
            self.put(f"{uniform} = {scope}_broadcast({value}, {places});")

    # Control.

    def body(self, depth: int, together: bool) -> None:
        for _ in range(self.rng.randint(1, max(1, self.statements - 2))):
            self.statement(depth - 1, together)

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        self.put(head + " {")
        yield
        self.put(end)

    def condition(self, together: bool) -> str:
        return self.values.together() if together else self.values.test()

    def control(self, depth: int, together: bool) -> None:
        together = together and self.rng.random() < 0.75
        kind = self.rng.random()
        if kind < 0.35:
            with self.block(f"if ({self.condition(together)})"):
                self.body(depth, together)
            if self.rng.random() < 0.6:
                with self.block("else"):
                    self.body(depth, together)
        elif kind < 0.42:
            self.choices(depth, together)
        elif kind < 0.5:
            self.jump(depth, together)
        else:
            self.loop(depth, together)
        self.leave_loop(together)

    def choices(self, depth: int, together: bool) -> None:
        value = self.values.uniform() if together else self.values.varying()
        with self.block(f"switch ({value} & 3u)"):
            for k in self.rng.sample(range(4), 3):
                self.put(f"case {k}:")
                self.body(depth, together)
                if self.rng.random() < 0.7:
                    self.put("break;")

    def jump(self, depth: int, together: bool) -> None:
        """Over something, or into the middle of a loop."""
        label, counter = self.name("label"), self.name("k")
        self.put(f"uint {counter} = 0;")
        self.put(f"if ({self.condition(together)}) goto {label};")
        if self.rng.random() < 0.5:
            self.body(depth, together)
            self.put(f"{label}:;")
            return
        with self.block(f"for (; {counter} < 3u; {counter}++)"):
            # Where a loop is entered in the middle, lanes cannot be asked what they have.
            inside = together and not self.plan.collective
            self.loops.append(inside)
            self.body(depth, inside)
            self.put(f"{label}:;")
            self.body(depth, inside)
            self.loops.pop()

    def loop(self, depth: int, together: bool) -> None:
        counter = self.name("k")
        bound = f"{self.values.uniform() if together else self.values.varying()} & 3u"
        if self.rng.random() < 0.3:
            self.put(f"uint {counter} = {bound};")
            head, end = "do", f"}} while ({counter}++ < 3u);"
        else:
            if self.rng.random() < 0.7:
                limit = self.name("m")
                self.put(f"uint {limit} = {bound};")
                bound = limit
            elif together:
                bound = "3u"
            head, end = f"for (uint {counter} = 0; {counter} < ({bound}) && {counter} < 4u; {counter}++)", "}"
        with self.block(head, end):
            self.loops.append(together)
            self.body(depth, together)
            if self.rng.random() < 0.5:
                self.put(f"v1 += {counter};")
            self.loops.pop()

    def leave_loop(self, together: bool) -> None:
        """Sometimes, inside of a loop, go on with the next iteration or behind it."""
        if self.loops and self.rng.random() < 0.3 and (together or not self.loops[-1]):
            self.put(f"if ({self.condition(together)}) {self.rng.choice(('break', 'break', 'continue'))};")
