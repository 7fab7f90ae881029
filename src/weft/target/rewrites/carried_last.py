"""What a loop carries from one iteration to the next comes last in its sums, so that iterations wait for little.

An iteration of a loop in order can begin only what the one before has finished. Of a sum, all but the number that it
hands on can be there before; where additions may change places, that number is added last. A factor is spread out::

    %p = phi double [ ..., %before ], [ %x, %loop ]          %r  = fadd fast double %a, %b
    %s = fadd fast double %a, %p                       ==>   %rm = fmul fast double %r, %m
    %t = fadd fast double %s, %b                             %pm = fmul fast double %p, %m
    %x = fmul fast double %t, %m                             %x  = fadd fast double %rm, %pm

which is one fused instruction behind ``%p`` instead of three. So is the largest of several numbers.

Precondition: LLVM's text behind its pipeline, which has made values of what is stored and loaded again in the next
iteration, and would sort sums by other rules. Postcondition: in loops of one block, sums, differences, products and
extrema under all flags of fast mathematics hang on the latest carried number by one operation, where that is fewer than
before. Preserves what functions give, but for what these flags allow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import (
    INCOMING,
    NAME,
    FunctionLines,
    loops_of_one_block,
    rewritten,
    unused_prefix,
    with_declarations,
)
from weft.target.rewrites.fast_operations import SUFFIXES, FastOperation, fast_operation, one_of

_PHI = re.compile(r"phi (?:<\d+ x )?(?:half|bfloat|float|double)\b.*?(\[.*\])")

STEP = 4
"""Cycles of an addition, a multiplication, or both fused, on any core of the last ten years, about."""

_OTHER = 3
"""Cycles of anything else that stands between; guess."""

_OLDER = -1000
"""How late a number is that was carried into the iteration before already."""

_MOST_FACTORS = 2
"""Factors that are spread out; each one more is one more multiplication in each iteration."""

_DEEPEST = 24
"""Operations in each other that are looked at together."""


class _Linear(Struct, frozen=True):
    """A number as a multiple of the carried one, and the rest; None for a multiple or rest of 0, "" for 1 times it."""

    multiple: str | None
    rest: str | None
    negative: bool = False


class _NotLinear(Exception):
    """A number that no multiple of the carried one, and a rest, add up to."""


def with_carried_last(text: str, isa: Isa) -> str | None:
    """A module's text with such sums; None where it has none."""
    if " fast " not in text:
        return None
    fused = "fma" in isa.features or isa.arch != "x86_64"
    needed: set[str] = set()
    changed = rewritten(text, lambda part: _changed(part, fused, needed) if " fast " in part else None)
    return None if changed is None else with_declarations(changed, needed)


def _changed(text: str, fused: bool, needed: set[str]) -> str | None:
    """One function's text with such sums; None where it has none."""
    function = FunctionLines.of(text)
    loops = list(loops_of_one_block(function))
    if not loops:
        return None
    uses = Counter(NAME.findall(text))
    prefix, made = unused_prefix("carried", text), 0
    for first, last, label in loops:
        loop = _Loop(function, first, last, label, uses, f"{prefix}.{first}", fused)
        loop.run()
        made += loop.made
        needed |= loop.declarations
    return "\n".join(line for line in function.lines if line != _GONE) if made else None


_IN_ORDER = "nnan ninf nsz arcp contract afn"
"""What may be done with the last operation: anything but have it change places again, which LLVM would, as it takes
what is carried for there from the beginning."""

_GONE = "\0"
"""In the place of a line that is not needed any more."""


class _Loop:
    """Rewrites the sums of one loop, line by line in their order."""

    def __init__(
        self,
        function: FunctionLines,
        first: int,
        last: int,
        label: str,
        uses: Counter[str],
        prefix: str,
        fused: bool,
    ) -> None:
        self._lines, self._first, self._last, self._label = function.lines, first, last, label
        self._uses, self._prefix, self._fused = uses, prefix, fused
        self._operations: dict[str, FastOperation] = {}
        self._where: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self._inner: set[str] = set()
        self._within: set[str] = set()
        self._new: list[str] = []
        self._names = 0
        self.made = 0
        self.declarations: set[str] = set()
        self._right: dict[str, str] = {}
        for name, (number, right) in function.defined_between(first, last).items():
            self._where[name], self._right[name] = number, right
            if (operation := fast_operation(right)) is not None:
                self._operations[name] = operation
        # What is loaded is there early.
        self._made_of = {
            name: [] if right.startswith(("load ", "phi ")) else NAME.findall(right)
            for name, right in self._right.items()
        }

    def run(self) -> None:
        """Rewrite what hangs on carried numbers by more than it has to."""
        for operation in self._operations.values():
            self._inner.update(v for v in operation.operands if self._is_inner(v, operation))
        phis = self._carried()
        for name, back in phis.items():
            self._late[name] = _OLDER if back in phis else 0
        if not phis:
            return
        for name, number in sorted(self._where.items(), key=lambda item: item[1]):
            if name in self._late:
                continue
            operation = self._operations.get(name)
            late = [self._late[v] for v in self._made_of[name] if v in self._late]
            if not late:
                continue
            self._late[name] = max(late) + (_OTHER if operation is None else STEP)
            if operation is not None and name not in self._inner:
                self._rewrite(name, number, operation)

    def _carried(self) -> dict[str, str]:
        """What hangs on itself in the iteration before: φs, and what they are in the next one."""
        phis: dict[str, str] = {}
        for name, right in self._right.items():
            if found := _PHI.match(right):
                back = [value for value, source in INCOMING.findall(found[1]) if source == self._label]
                if back:
                    phis[name] = back[0]
        while True:
            hanging = set(phis)
            for name in sorted(self._where, key=self._where.__getitem__):
                if name not in phis and not hanging.isdisjoint(self._made_of[name]):
                    hanging.add(name)
            left = {name: back for name, back in phis.items() if back in hanging}
            if len(left) == len(phis):
                return left
            phis = left

    def _is_inner(self, value: str, user: FastOperation) -> bool:
        """Whether a value is a part of a larger sum, or of a larger extremum, alone."""
        operation = self._operations.get(value)
        if operation is None or self._uses[value] != 2 or operation.type != user.type:
            return False
        return operation.is_linear if user.is_linear else operation.kind == user.kind

    def _rewrite(self, name: str, number: int, operation: FastOperation) -> None:
        parts: list[str] = []
        leaves = list(self._leaves(name, parts, _DEEPEST))
        self._within = set(parts)
        late = [v for v in leaves if v in self._late]
        if not late or len(parts) < 2 or len(parts) > _DEEPEST:
            return
        latest = max(late, key=lambda v: self._late[v])
        before = self._steps(name, latest)
        assert before is not None
        self._new, names = [], self._names
        if operation.is_linear:
            after = self._sum(name, latest, operation, before)
        else:
            after = self._extremum(name, leaves, latest, operation, before)
        if after is None:
            self._names = names
            return
        self._lines[number] = "\n".join(self._new)
        for part in parts:
            if part != name and self._steps(part, latest) is not None:
                self._lines[self._where[part]] = _GONE
        others = [self._late[v] for v in late if v != latest]
        self._late[name] = max([self._late[latest] + after, *(v + 2 * STEP for v in others)])
        self.made += 1

    def _leaves(self, name: str, parts: list[str], depth: int) -> Iterator[str]:
        """What a sum is made of in the end; the operations on the way go to `parts`."""
        parts.append(name)
        for value in self._operations[name].operands:
            if depth and self._is_inner(value, self._operations[name]) and value in self._late:
                yield from self._leaves(value, parts, depth - 1)
            else:
                yield value

    def _steps(self, name: str, latest: str, depth: int = _DEEPEST) -> int | None:
        """Cycles from the latest number to a sum, as it is; None where it is not in it."""
        operation = self._operations[name]
        found: list[int] = []
        for value in operation.operands:
            if value == latest:
                found.append(STEP)
            elif depth and value in self._operations and self._is_inner(value, operation):
                steps = self._steps(value, latest, depth - 1)
                if steps is None:
                    continue
                product = self._operations[value].kind == "fmul" and operation.kind in ("fadd", "fsub")
                free = self._operations[value].kind == "fneg" or (product and self._fused)
                found.append(steps if free else steps + STEP)
        return max(found, default=None)

    def _sum(self, name: str, latest: str, operation: FastOperation, before: int) -> int | None:
        try:
            found = self._linear(name, latest)
        except _NotLinear:
            return None
        if found.multiple is None or found.rest is None:
            return None
        after = STEP if self._fused or not found.multiple else 2 * STEP
        if after >= before or sum(" fmul " in line for line in self._new) > 2 * _MOST_FACTORS:
            return None
        if found.multiple and self._fused:
            # Of a sum of two products it is not said which of them comes last.
            multiple = self._negated(found.multiple, operation) if found.negative else found.multiple
            self._fuse(name, latest, multiple, found.rest, operation)
            return after
        carried = latest if not found.multiple else self._emit("fmul", latest, found.multiple, operation)
        sign = "fsub" if found.negative else "fadd"
        self._new.append(
            f"  {name} = {sign} {_IN_ORDER} {operation.type} {found.rest}, {carried}{operation.debug}"
        )
        return after

    def _linear(self, value: str, latest: str) -> _Linear:
        """A value as a multiple of the latest number, and a rest; new operations go to the new lines."""
        if value == latest:
            return _Linear("", None)
        operation = self._operations.get(value)
        if operation is None or value not in self._within or self._steps(value, latest) is None:
            return _Linear(None, value)
        parts = [self._linear(v, latest) for v in operation.operands]
        if operation.kind == "fneg":
            (part,) = parts
            rest = None if part.rest is None else self._negated(part.rest, operation)
            return _Linear(part.multiple, rest, not part.negative)
        a, b = parts
        if operation.kind == "fmul":
            if a.multiple is not None and b.multiple is not None:
                raise _NotLinear
            many, factor = (a, b.rest) if a.multiple is not None else (b, a.rest)
            assert factor is not None
            rest = None if many.rest is None else self._emit("fmul", many.rest, factor, operation)
            multiple = self._emit("fmul", many.multiple, factor, operation) if many.multiple else factor
            return _Linear(multiple, rest, many.negative)
        minus = operation.kind == "fsub"
        if a.rest is None or b.rest is None:
            rest = self._negated(b.rest, operation) if minus and b.rest is not None else a.rest or b.rest
        else:
            rest = self._emit(operation.kind, a.rest, b.rest, operation)
        if a.multiple is not None and b.multiple is not None:
            multiple = self._difference if a.negative != (b.negative != minus) else self._total
            return _Linear(multiple(a.multiple, b.multiple, operation), rest, a.negative)
        many = a if a.multiple is not None else b
        return _Linear(many.multiple, rest, many.negative != (minus and many is b))

    def _one(self, operation: FastOperation) -> str:
        found = one_of(operation.type)
        if found is None:
            raise _NotLinear
        return found

    def _total(self, a: str, b: str, operation: FastOperation) -> str:
        one = self._one(operation)
        return self._emit("fadd", a or one, b or one, operation)

    def _difference(self, a: str, b: str, operation: FastOperation) -> str:
        one = self._one(operation)
        return self._emit("fsub", a or one, b or one, operation)

    def _negated(self, value: str, operation: FastOperation) -> str:
        return self._emit("fneg", value, "", operation)

    def _extremum(
        self, name: str, leaves: list[str], latest: str, operation: FastOperation, before: int
    ) -> int | None:
        if before <= STEP or leaves.count(latest) != 1:
            return None
        rest, *others = (v for v in leaves if v != latest)
        for other in others:
            rest = self._emit(operation.kind, rest, other, operation)
        self._emit(operation.kind, rest, latest, operation, name)
        return STEP

    def _fuse(self, name: str, a: str, b: str, c: str, like: FastOperation) -> None:
        element = like.type.strip("<>").split(" ")
        suffix = f"v{element[0]}" if len(element) > 1 else ""
        function = f"{like.type} @llvm.fmuladd.{suffix}{SUFFIXES[element[-1]]}"
        self.declarations.add(f"declare {function}({like.type}, {like.type}, {like.type})")
        operands = ", ".join(f"{like.type} {v}" for v in (a, b, c))
        self._new.append(f"  {name} = call fast {function}({operands}){like.debug}")

    def _emit(self, kind: str, a: str, b: str, like: FastOperation, name: str = "") -> str:
        """A new operation, and its name."""
        if not name:
            name, self._names = f"{self._prefix}.{self._names}", self._names + 1
        if kind.startswith("@"):
            flags = "fast" if name.startswith(self._prefix) else _IN_ORDER
            right = f"call {flags} {like.type} {kind}({like.type} {a}, {like.type} {b})"
        else:
            right = f"{kind} fast {like.type} {a}" + (f", {b}" if b else "")
        self._new.append(f"  {name} = {right}{like.debug}")
        return name
