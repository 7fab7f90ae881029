"""Random kernels of work-groups: barriers, shared memory, and control around them.

``group_program(seed)`` is the LLVM text of a kernel

    @kernel(ptr %in, ptr %out, i32 %u)

for work-groups of up to `MAX_THREADS` threads in one to three dimensions. Every thread writes `OUT_WORDS` words of
``%out``, those of its linear number. ``%in`` has `IN_WORDS` words; from `SAME` on all are alike, so that a value read
there is the same in all threads and no analysis can know. Threads exchange values through shared memory, between
barriers, without races, and add them up there by atomic operations; functions that the kernel calls do so, too. Most
barriers are reached by all threads that have not returned; some perhaps not, and then the kernel ends in a barrier
divergence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

MAX_THREADS = 1024
IN_WORDS, SAME = 640, 512
OUT_WORDS = 6

_KERNEL = f"""define void @kernel(ptr %in, ptr %out, i32 %u) "weft.kernel" "weft.shared"="{4 * MAX_THREADS}:64,{4 * MAX_THREADS}:64" {{
"""  # noqa: E501

_HEAD = """entry:
  %x64 = call i64 @weft.local.id(i32 0)
  %y64 = call i64 @weft.local.id(i32 1)
  %z64 = call i64 @weft.local.id(i32 2)
  %sx64 = call i64 @weft.local.size(i32 0)
  %sy64 = call i64 @weft.local.size(i32 1)
  %sz64 = call i64 @weft.local.size(i32 2)
  %x = trunc i64 %x64 to i32
  %y = trunc i64 %y64 to i32
  %z = trunc i64 %z64 to i32
  %sx = trunc i64 %sx64 to i32
  %row64 = mul i64 %z64, %sy64
  %row64.y = add i64 %row64, %y64
  %linear.x = mul i64 %row64.y, %sx64
  %linear64 = add i64 %linear.x, %x64
  %linear = trunc i64 %linear64 to i32
  %plane = mul i64 %sx64, %sy64
  %threads64 = mul i64 %plane, %sz64
  %threads = trunc i64 %threads64 to i32
  %s0 = call ptr addrspace(3) @weft.shared(i32 0)
  %s1 = call ptr addrspace(3) @weft.shared(i32 1)
  %own.s0 = getelementptr i32, ptr addrspace(3) %s0, i64 %linear64
  %own.s1 = getelementptr i32, ptr addrspace(3) %s1, i64 %linear64
"""

_TAIL = """
declare void @weft.barrier() convergent
declare i32 @weft.barrier.count(i1) convergent
declare i32 @weft.barrier.and(i1) convergent
declare i32 @weft.barrier.or(i1) convergent
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
"""

_VARYING = ("v0", "v1", "v2")
_UNIFORM = ("u0", "u1")
_MINE = 4


def group_program(seed: int, statements: int = 5, depth: int = 3) -> str:
    """The kernel of a seed, with so many statements in a row at most, and control so deep."""
    rng = random.Random(f"group {seed}")
    helpers: dict[str, bool] = {}
    text = ""
    for k in range(rng.choice((0, 0, 1, 2))):
        together = rng.random() < 0.75
        text += _Body(rng, max(1, statements - 2), helpers).function(f"helper{k}", depth - 1, together)
        helpers[f"helper{k}"] = together
    return _Body(rng, statements, helpers).kernel(depth) + text + _TAIL


class _Body:
    """Writes the kernel, or a function for it to call.

    It may call `helpers`, some only where all threads of the group call them together.
    """

    def __init__(self, rng: random.Random, statements: int, helpers: dict[str, bool]) -> None:
        self.rng = rng
        self.statements = statements
        self.helpers = dict(helpers)
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[tuple[str, str]] = []
        self.in_kernel = False

    def variables(self) -> None:
        for name in (*_VARYING, *_UNIFORM):
            self.put(f"%{name} = alloca i32")
        self.put(f"%mine = alloca [{_MINE} x i32]")
        for i, name in enumerate(_VARYING):
            self.put(f"store i32 {self.input('%linear') if i == 0 else '%linear'}, ptr %{name}")
        self.put("store i32 %u, ptr %u0")
        self.put("store i32 3, ptr %u1")
        for k in range(_MINE):
            self.put(f"store i32 {k}, ptr {self.element(str(k))}")

    def function(self, name: str, depth: int, together: bool) -> str:
        self.variables()
        self.put("store i32 %a, ptr %v1")
        for _ in range(self.rng.randint(1, self.statements)):
            self.statement(depth, together)
        self.put(f"ret i32 {self.load(self.rng.choice(_VARYING))}")
        # As front ends have it; what holds no barrier may stay a function.
        inlined = "alwaysinline " if together or self.rng.random() < 0.5 else ""
        body = "\n".join(self.lines)
        return f"define internal i32 @{name}(ptr %in, i32 %u, i32 %a) {inlined}{{\n{_HEAD}{body}\n}}\n"

    def kernel(self, depth: int) -> str:
        self.in_kernel = True
        self.variables()
        self.put("store i32 0, ptr addrspace(3) %own.s0")
        self.put("store i32 0, ptr addrspace(3) %own.s1")
        self.put("call void @weft.barrier()")
        for _ in range(self.rng.randint(2, self.statements)):
            self.statement(depth, together=True, top=True)
        self.put("br label %exit")
        self.lines.append("exit:")
        for k, value in enumerate((*_VARYING, *_UNIFORM)):
            self.out(k, self.load(value))
        self.out(len(_VARYING) + len(_UNIFORM), self.read_mine("2"))
        self.put("ret void")
        return _KERNEL + _HEAD + "\n".join(self.lines) + "\n}\n"

    # What the text is made of.

    def put(self, line: str) -> None:
        self.lines.append("  " + line)

    def new(self, line: str) -> str:
        self.count += 1
        self.put(f"%t{self.count} = {line}")
        return f"%t{self.count}"

    def block(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def begin(self, block: str) -> None:
        self.put(f"br label %{block}")
        self.lines.append(f"{block}:")

    def load(self, name: str) -> str:
        return self.new(f"load i32, ptr %{name}")

    def element(self, index: str) -> str:
        return self.new(f"getelementptr i32, ptr %mine, i32 {index}")

    def read_mine(self, index: str) -> str:
        return self.new(f"load i32, ptr {self.element(index)}")

    def below(self, value: str, bound: int) -> str:
        """`value` modulo a power of two."""
        return self.new(f"and i32 {value}, {bound - 1}")

    def input(self, index: str, begin: int = 0) -> str:
        place = self.new(f"add i32 {self.below(index, 64 if begin else 512)}, {begin}")
        return self.new(f"load i32, ptr {self.new(f'getelementptr i32, ptr %in, i32 {place}')}")

    def out(self, word: int, value: str) -> None:
        first = self.new(f"mul i64 %linear64, {OUT_WORDS}")
        place = self.new(f"add i64 {first}, {word}")
        self.put(f"store i32 {value}, ptr {self.new(f'getelementptr i32, ptr %out, i64 {place}')}")

    # Expressions.

    def uniform(self) -> str:
        """A value that is the same in all threads of the group."""
        kind = self.rng.random()
        if kind < 0.45:
            return self.load(self.rng.choice(_UNIFORM))
        if kind < 0.6:
            return self.rng.choice(("%threads", "%sx", "%u", "7"))
        if kind < 0.75:
            return self.input(self.load(self.rng.choice(_UNIFORM)))
        op = self.rng.choice(("add", "sub", "mul", "xor", "lshr"))
        other = str(self.rng.randint(1, 5))
        return self.new(f"{op} i32 {self.load(self.rng.choice(_UNIFORM))}, {other}")

    def varying(self) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return self.load(self.rng.choice(_VARYING))
        if kind < 0.5:
            return self.rng.choice(("%linear", "%x", "%y", "%z"))
        if kind < 0.6:
            return self.input(self.load(self.rng.choice(_VARYING)))
        if kind < 0.7:
            return self.read_mine(self.below(self.load(self.rng.choice((*_VARYING, *_UNIFORM))), _MINE))
        if kind < 0.78:
            # The same in threads that may be a lane group, or not.
            return self.new(f"lshr i32 {self.rng.choice(('%linear', '%x'))}, {self.rng.choice((3, 4, 5))}")
        op = self.rng.choice(("add", "sub", "mul", "xor", "and", "or"))
        other = self.uniform() if self.rng.random() < 0.4 else self.load(self.rng.choice(_VARYING))
        return self.new(f"{op} i32 {self.load(self.rng.choice(_VARYING))}, {other}")

    def test(self, value: str, of: int = 4) -> str:
        """Whether the low bits of a value are below a number."""
        return self.new(f"icmp ult i32 {self.below(value, of)}, {self.rng.randint(1, of - 1)}")

    def together(self) -> str:
        """A condition that holds in all threads of the group or in none."""
        if self.rng.random() < 0.25:
            same = self.input(self.rng.choice(("%linear", "%x")), SAME)
            return self.new(f"icmp sgt i32 {same}, {self.rng.randint(-8, 8)}")
        return self.test(self.uniform())

    # Statements.

    def body(self, depth: int, together: bool) -> None:
        for _ in range(self.rng.randint(1, max(1, self.statements - 2))):
            self.statement(depth - 1, together)

    def statement(self, depth: int, together: bool, top: bool = False) -> None:
        kind = self.rng.random()
        if depth > 0 and kind < 0.3:
            self.control(depth, together)
        elif together and kind < 0.65:
            self.synchronize()
        elif together and kind < 0.72 and (top or (self.in_kernel and self.rng.random() < 0.3)):
            self.leave()
        elif kind < 0.78 and self.callable(together):
            called = self.rng.choice(self.callable(together))
            result = self.new(f"call i32 @{called}(ptr %in, i32 {self.uniform()}, i32 {self.varying()})")
            self.put(f"store i32 {result}, ptr %{self.rng.choice(_VARYING)}")
        elif kind < 0.82:
            self.update(self.rng.choice(("%own.s0", "%own.s1")), self.rng.choice(_VARYING))
        elif self.rng.random() < 0.2 and together:
            self.put(f"store i32 {self.uniform()}, ptr %{self.rng.choice(_UNIFORM)}")
        elif self.rng.random() < 0.25:
            place = self.element(self.below(self.varying(), _MINE))
            self.put(f"store i32 {self.varying()}, ptr {place}")
        else:
            self.put(f"store i32 {self.varying()}, ptr %{self.rng.choice(_VARYING)}")

    def callable(self, together: bool) -> list[str]:
        return [name for name, by_all in self.helpers.items() if together or not by_all]

    def update(self, place: str, old: str | None = None) -> None:
        """Change a word of shared memory in one step, and perhaps keep what it was."""
        op = self.rng.choice(("add", "sub", "xor", "and", "or", "max", "umin"))
        before = self.new(f"atomicrmw {op} ptr addrspace(3) {place}, i32 {self.varying()} monotonic")
        if old is not None:
            self.put(f"store i32 {before}, ptr %{old}")

    def leave(self) -> None:
        """Some threads return."""
        stay = self.block("stay")
        self.put(f"br i1 {self.test(self.varying(), 8)}, label %exit, label %{stay}")
        self.lines.append(f"{stay}:")

    def synchronize(self) -> None:
        kind = self.rng.random()
        if kind < 0.2:
            what = self.rng.choice(("count", "and", "or"))
            vote = self.new(f"call i32 @weft.barrier.{what}(i1 {self.test(self.varying())})")
            self.put(f"store i32 {vote}, ptr %{self.rng.choice(_UNIFORM)}")
        elif kind < 0.23:
            # Perhaps not reached by all.
            with self.branch(self.test(self.varying(), 16)):
                self.put("call void @weft.barrier()")
        else:
            self.exchange("s0")
            if self.rng.random() < 0.4:
                self.exchange("s1")
            self.put("call void @weft.barrier()")

    def exchange(self, array: str) -> None:
        """Write the own element, and read another thread's behind a barrier."""
        self.put(f"store i32 {self.varying()}, ptr addrspace(3) %own.{array}")
        self.put("call void @weft.barrier()")
        if self.rng.random() < 0.3:
            self.accumulate(array)
        kind = self.rng.random()
        if kind < 0.35:
            last = self.new("sub i32 %threads, 1")
            index = self.new(f"sub i32 {last}, %linear")
        elif kind < 0.7:
            moved = self.new(
                f"add i32 {self.rng.choice(('%linear', self.uniform()))}, {self.rng.randint(0, 9)}"
            )
            index = self.new(f"urem i32 {moved}, %threads")
        else:
            index = self.new(f"urem i32 {self.varying()}, %threads")
        where = self.new(f"getelementptr i32, ptr addrspace(3) %{array}, i32 {index}")
        self.put(
            f"store i32 {self.new(f'load i32, ptr addrspace(3) {where}')}, ptr %{self.rng.choice(_VARYING)}"
        )

    def accumulate(self, array: str) -> None:
        """Let threads change each other's elements: their order does not matter to what is there at the end."""
        index = self.new(f"urem i32 {self.varying()}, %threads")
        where = self.new(f"getelementptr i32, ptr addrspace(3) %{array}, i32 {index}")
        if self.rng.random() < 0.5:
            self.update(where)
        else:
            with self.branch(self.test(self.varying())):
                self.update(where)
        self.put("call void @weft.barrier()")

    @contextmanager
    def branch(self, condition: str) -> Iterator[None]:
        then, join = self.block("then"), self.block("join")
        self.put(f"br i1 {condition}, label %{then}, label %{join}")
        self.lines.append(f"{then}:")
        yield
        self.begin(join)

    def control(self, depth: int, together: bool) -> None:
        kind = self.rng.random()
        together = together and self.rng.random() < 0.75
        if kind < 0.4:
            self.choice(depth, together)
        elif kind < 0.8 or not together:
            self.loop(depth, together)
        else:
            self.strided_loop(depth)
        self.leave_loop(together)

    def leave_loop(self, together: bool) -> None:
        """Sometimes, inside of a loop, go on with the next iteration or behind it."""
        if self.loops and self.rng.random() < 0.25:
            rest = self.block("rest")
            condition = (
                self.together()
                if together or self.loops[-1][0].startswith("sync")
                else self.test(self.varying())
            )
            self.put(f"br i1 {condition}, label %{self.rng.choice(self.loops[-1])}, label %{rest}")
            self.lines.append(f"{rest}:")

    def choice(self, depth: int, together: bool) -> None:
        condition = self.together() if together else self.test(self.varying())
        then, otherwise, join = self.block("if"), self.block("else"), self.block("end")
        self.put(f"br i1 {condition}, label %{then}, label %{otherwise}")
        self.lines.append(f"{then}:")
        self.body(depth, together)
        self.put(f"br label %{join}")
        self.lines.append(f"{otherwise}:")
        if self.rng.random() < 0.5:
            self.body(depth, together)
        self.begin(join)

    def loop(self, depth: int, together: bool) -> None:
        bound = self.below(self.uniform() if together else self.varying(), 4)
        self.counted("0", bound, "1", depth, together)

    def strided_loop(self, depth: int) -> None:
        """Each thread begins at its number: as many turns for each, which no analysis sees."""
        self.counted(
            "%linear", self.new(f"mul i32 %threads, {self.rng.randint(1, 2)}"), "%threads", depth, True
        )

    def counted(self, start: str, bound: str, step: str, depth: int, together: bool) -> None:
        names = [self.block("sync" if together else n) for n in ("head", "body", "latch", "done")]
        head, body, latch, done = names
        before = self.block("before")
        self.begin(before)
        self.put(f"br label %{head}")
        self.lines.append(f"{head}:")
        self.count += 1
        counter = f"%k{self.count}"
        self.put(f"{counter} = phi i32 [ {start}, %{before} ], [ {counter}.next, %{latch} ]")
        self.put(f"br i1 {self.new(f'icmp slt i32 {counter}, {bound}')}, label %{body}, label %{done}")
        self.lines.append(f"{body}:")
        self.loops.append((latch, done))
        self.body(depth, together)
        if self.rng.random() < 0.5:
            name = self.rng.choice(_VARYING)
            self.put(f"store i32 {self.new(f'add i32 {self.load(name)}, {counter}')}, ptr %{name}")
        self.loops.pop()
        self.begin(latch)
        self.put(f"{counter}.next = add i32 {counter}, {step}")
        self.put(f"br label %{head}")
        self.lines.append(f"{done}:")
