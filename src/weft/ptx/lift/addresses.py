"""From integers to pointers: which object each access of a lifted kernel leads into.

In PTX an address is an integer. Here each integer that memory is accessed by is taken apart: sums, φs and selects are
followed to the *roots*, which are parameters of the kernel, variables, stack objects, and addresses loaded from memory.
A parameter that is a root of an access becomes a pointer; an address with one root becomes its pointer and an offset,
one with several a φ of pointers. What is none of this stays an integer, which is right for every program and tells the
analyses nothing.

Shared addresses are 64-bit pointers whose upper half a program may drop, since all shared memory of a work-group lies
within 4 GiB: `SHARED_ADDRESS` asks for the whole of one.

Precondition: ``sroa`` has made values of registers. Postcondition: no call of `SHARED_ADDRESS`. Same memory, same
values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.ir import Argument, Builder, ConstExpr, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.builder import address_space
from weft.ir.cfg_edit import arriving, replace_and_erase
from weft.ir.intrinsics import KERNEL_ATTRIBUTE, SHARED_SPACE
from weft.ir.result_types import gep_type
from weft.ir.types import I8, I32, I64, PTR, FunctionType, IntType
from weft.ptx.lift.memory import SHARED_ADDRESS

Roots = frozenset[Value]
_NONE: Roots = frozenset()


def find_objects(function: Function, marked: frozenset[int] = frozenset()) -> dict[int, list[Instruction]]:
    """Let accesses of `function` name their objects; return the accesses through each parameter, by its number.

    Parameters
    ----------
    function
        The function.
    marked
        The parameters that the source calls pointers (``.ptr``). Where it calls some so, others are numbers: in the sum
        of an address and an extent, both could be either. They are pointers even where no access is seen to lead
        through them, as when addresses were spilled to memory.
    """
    finder = _Finder(function, function.attribute(KERNEL_ATTRIBUTE) is not None, marked)
    finder.solve()
    casts = [i for i in function.instructions() if i.op == "inttoptr"]
    accessed = {cast: finder.roots(cast.operands[0]) for cast in casts}
    finder.parameters = [
        a
        for a in function.args
        if any(a in roots for roots in accessed.values())
        or (finder.is_kernel and a.index in marked and a.type == I64)
    ]
    through: dict[int, list[Instruction]] = {a.index: [] for a in finder.parameters}
    for cast, roots in accessed.items():
        for root in roots:
            if isinstance(root, Argument) and root.index in through:
                through[root.index] += _accesses(cast)
    finder.make_pointers()
    for cast in casts:
        _replace(cast, finder.pointer(cast.operands[0]))
    finder.settle_shared()
    finder.drop_unused()
    return through


def _accesses(cast: Instruction) -> list[Instruction]:
    found: list[Instruction] = []
    for user in cast.instruction_users():
        found += _accesses(user) if user.op == "getelementptr" else [user]
    return found


def _replace(cast: Instruction, address: Value) -> None:
    """Let users of a cast have another pointer, which may lead into another address space."""
    if address.type != cast.type:
        for user in list(cast.instruction_users()):
            if user.op == "getelementptr":
                user.replace_operand(cast, address)
                user.type = gep_type(tuple(user.operands))
    replace_and_erase(cast, address)


@dataclass(slots=True)
class _Finder:
    """Takes the integers of one function apart.

    Parameters
    ----------
    function
        The function.
    is_kernel
        Whether its parameters may become pointers.
    marked
        Those that may, by their numbers; all if there are none.
    parameters
        Those that do.
    """

    function: Function
    is_kernel: bool
    marked: frozenset[int]
    parameters: list[Argument] = field(default_factory=list)
    _roots: dict[Value, Roots] = field(default_factory=dict)
    _pointers: dict[Value, Value] = field(default_factory=dict)
    _rests: dict[Value, Value] = field(default_factory=dict)
    _bases: dict[Value, Value] = field(default_factory=dict)

    def solve(self) -> None:
        """Find the roots of all integers: again and again, as they come around loops, until no more come.

        A sum of two addresses is none, and stays none, so this ends.
        """
        integers = [i for i in self.function.instructions() if i.type in (I32, I64)]
        doubtful: set[Value] = set()
        changed = True
        while changed:
            changed = False
            for value in integers:
                if value in doubtful:
                    continue
                found = self._find(value)
                if not found and self._roots.get(value):
                    doubtful.add(value)
                if found != self._roots.get(value, _NONE):
                    self._roots[value] = found
                    changed = True

    def roots(self, value: Value) -> Roots:
        """What an integer, taken as an address, may be relative to; none where it is no address."""
        known = self._roots.get(value)
        if known is not None:
            return known
        return _NONE if isinstance(value, Instruction) else self._find(value)

    def _joined(self, value: Instruction) -> Roots:
        operands = value.operands if value.op == "phi" else value.operands[1:]
        return frozenset[Value]().union(*(self.roots(o) for o in operands if o is not value))

    def _find(self, value: Value) -> Roots:
        variable = _variable(value)
        if variable is not None:
            return frozenset((variable,))
        if isinstance(value, Argument):
            may_be = self.is_kernel and (not self.marked or value.index in self.marked)
            return frozenset((value,)) if may_be and value.type == I64 else _NONE
        if not isinstance(value, Instruction):
            return _NONE
        match value.op:
            case "add":
                return _stronger(*(self.roots(o) for o in value.operands))
            case "sub":
                return self.roots(value.operands[0]) if not self.roots(value.operands[1]) else _NONE
            case "phi" | "select":
                return self._joined(value)
            case "trunc":
                return _shared(self.roots(value.operands[0]))
            case "zext" | "sext":
                return _shared(self.roots(value.operands[0]))
            case "load":
                return frozenset((value,)) if value.type == I64 else _NONE
            case "call":
                if value.callee_name == SHARED_ADDRESS:
                    return _shared(self.roots(value.args[0]))
                return frozenset((value,)) if value.type == I64 and not _computes(value) else _NONE
            case _:
                return _NONE

    def make_pointers(self) -> None:
        """Make pointers of the parameters that lead into memory."""
        builder = Builder.after_phis(self.function.entry)
        types = list(self.function.fn_type.params)
        for argument in self.parameters:
            users = list(argument.users)
            argument.type = PTR
            types[argument.index] = PTR
            if users:
                number = builder.cast("ptrtoint", argument, I64)
                for user in users:
                    user.replace_operand(argument, number)
                self._bases[number] = argument
                self._roots[number] = frozenset((number,))
                for value, roots in self._roots.items():
                    if argument in roots:
                        self._roots[value] = (roots - {argument}) | {number}
        old = self.function.fn_type
        self.function.fn_type = FunctionType(old.result, tuple(types), old.vararg)

    def pointer(self, value: Value) -> Value:
        """The pointer that an integer is, built where the integer is known."""
        known = self._pointers.get(value)
        if known is None:
            known = self._pointers[value] = self._build_pointer(value)
        return known

    def _build_pointer(self, value: Value) -> Value:
        roots = self.roots(value)
        if len(roots) == 1 and self._is_whole(value, set()):
            (root,) = roots
            base, rest = self._base(root), self._rest(value)
            builder = self._behind(_later(value, rest))
            if rest.type == I32:
                rest = builder.cast("sext", rest, I64)
            if isinstance(rest, ConstInt) and not rest.value:
                return base
            return builder.gep(I8, base, (rest,))
        if isinstance(value, Instruction) and roots and value.op == "phi":
            phi = Instruction("phi", PTR, loc=value.loc)
            assert value.block is not None
            value.block.insert(0, phi)
            self._pointers[value] = phi
            for incoming, block in arriving(value, lambda v, b: self._flat(v, b.terminator)):
                phi.add_incoming(incoming, block)
            return phi
        if isinstance(value, Instruction) and roots and value.op == "select":
            condition, then, otherwise = value.operands
            arms = self._flat(then, value), self._flat(otherwise, value)
            return self._behind(value).select(condition, *arms)
        if isinstance(value, Instruction) and roots and value.op in ("add", "sub"):
            a, b = value.operands
            if not self.roots(a) and value.op == "add":
                a, b = b, a
            builder = self._behind(value)
            offset: Value = b if value.op == "add" else builder.binary("sub", ConstInt(I64, 0), b)
            return builder.gep(I8, self.pointer(a), (offset,))
        return self._behind(value).cast("inttoptr", value, PTR)

    def _is_whole(self, value: Value, seen: set[Value]) -> bool:
        """Whether each way to a value with one root comes from there: none is null, or was never written."""
        if value in seen or value in self.roots(value) or _variable(value) is not None:
            return True
        seen.add(value)
        if not isinstance(value, Instruction) or not self.roots(value):
            return False
        match value.op:
            case "add" | "sub":
                return any(self.roots(o) and self._is_whole(o, seen) for o in value.operands)
            case "phi":
                return all(self._is_whole(o, seen) for o in value.operands)
            case "select":
                return all(self._is_whole(o, seen) for o in value.operands[1:])
            case _:
                return self._is_whole(value.operands[0], seen)

    def _flat(self, value: Value, before: Instruction) -> Value:
        """The pointer of an integer in the space that all addresses have."""
        found = self.pointer(value)
        if address_space(found):
            return Builder(before=before).cast("addrspacecast", found, PTR)
        return found

    def _base(self, root: Value) -> Value:
        """The pointer of a root."""
        if isinstance(root, GlobalVariable):
            return root
        known = self._bases.get(root)
        if known is None:
            assert isinstance(root, Instruction)
            if root.op == "ptrtoint":
                known = root.operands[0]
            elif root.op == "alloca":
                known = root
            else:
                known = self._behind(root).cast("inttoptr", root, PTR)
            self._bases[root] = known
        return known

    def _rest(self, value: Value) -> Value:
        """What is added to the one root of an integer, as wide as the integer is."""
        known = self._rests.get(value)
        if known is not None:
            return known
        assert isinstance(value.type, IntType)
        zero = ConstInt(value.type, 0)
        if value in self.roots(value) or _variable(value) is not None:
            rest: Value = zero
        else:
            assert isinstance(value, Instruction)
            rest = self._rest_of(value, zero)
        self._rests[value] = rest
        return rest

    def _rest_of(self, value: Instruction, zero: ConstInt) -> Value:
        builder = self._behind(value)
        match value.op:
            case "add" | "sub":
                a, b = value.operands
                if value.op == "add" and not (self.roots(a) & self.roots(value)):
                    a, b = b, a
                rest = self._rest(a)
                if value.op == "add":
                    return b if rest == zero else builder.binary("add", rest, b)
                return builder.binary("sub", rest, b)
            case "trunc" | "zext" | "sext":
                rest = self._rest(value.operands[0])
                assert isinstance(value.type, IntType)
                if isinstance(rest, ConstInt):
                    return ConstInt(value.type, rest.signed)
                # An offset within an object is signed, whatever the address was.
                return builder.cast("trunc" if value.op == "trunc" else "sext", rest, value.type)
            case "call":
                rest = self._rest(value.args[0])
                if isinstance(rest, ConstInt):
                    return ConstInt(I64, rest.signed)
                return builder.cast("sext", rest, I64)
            case "select":
                condition, then, otherwise = value.operands
                return builder.select(condition, self._rest(then), self._rest(otherwise))
            case _:
                assert value.op == "phi", value
                phi = Instruction("phi", value.type, loc=value.loc)
                assert value.block is not None
                value.block.insert(0, phi)
                self._rests[value] = phi
                for incoming, block in list(value.incoming()):
                    phi.add_incoming(self._rest(incoming), block)
                return phi

    def _behind(self, value: Value) -> Builder:
        """A builder right behind a value."""
        if not isinstance(value, Instruction):
            return Builder.after_phis(self.function.entry)
        assert value.block is not None
        if value.op == "phi":
            builder = Builder.after_phis(value.block)
        else:
            place = value.block.instructions.index(value) + 1
            builder = Builder(before=value.block.instructions[place])
        builder.loc = value.loc
        return builder

    def settle_shared(self) -> None:
        """Put the whole address in the place of each call that asks for it."""
        for call in [i for i in self.function.instructions() if i.callee_name == SHARED_ADDRESS]:
            if not call.is_used:
                continue
            builder = Builder(before=call)
            builder.loc = call.loc
            roots = self.roots(call)
            module = self.function.module
            assert module is not None
            shared = [g for g in module.globals.values() if address_space(g) == SHARED_SPACE]
            if len(roots) == 1 and self._is_whole(call, set()):
                pointer = self.pointer(call)
                value: Value = self._behind(_later(call, pointer)).cast("ptrtoint", pointer, I64)
            elif shared:
                start = builder.cast("ptrtoint", shared[0], I64)
                distance = builder.binary("sub", call.args[0], builder.cast("trunc", start, I32))
                value = builder.binary("add", start, builder.cast("sext", distance, I64))
            else:
                value = builder.cast("zext", call.args[0], I64)
            for user in list(call.users):
                if user is not value:
                    user.replace_operand(call, value)

    def drop_unused(self) -> None:
        """Erase calls that ask for shared addresses, and what only they used."""
        function = self.function
        work = [i for i in function.instructions() if i.callee_name == SHARED_ADDRESS and not i.is_used]
        while work:
            dead = work.pop()
            operands = [o for o in dead.operands if isinstance(o, Instruction)]
            dead.erase()
            work += [
                o for o in dict.fromkeys(operands) if not o.is_used and _is_pure(o) and o.block is not None
            ]
        module = function.module
        assert module is not None
        asked = any(i.callee_name == SHARED_ADDRESS for f in module.definitions() for i in f.instructions())
        if not asked:
            module.functions.pop(SHARED_ADDRESS, None)


def _later(value: Value, other: Value) -> Value:
    """Which of two values is known later, of which the second has been built from what the first has."""
    if not (isinstance(value, Instruction) and isinstance(other, Instruction)):
        return value
    block = value.block
    if block is None or other.block is not block:
        return value
    return max(value, other, key=block.instructions.index)


def _is_pure(value: Instruction) -> bool:
    return value.op in ("add", "sub", "mul", "trunc", "zext", "sext", "ptrtoint", "shl", "and", "or")


def _computes(call: Instruction) -> bool:
    """Whether a call only computes: what an intrinsic gives is no address."""
    return (call.callee_name or "llvm.").startswith(("llvm.", "weft.", "__weft_"))


def _variable(value: Value) -> Value | None:
    """The variable or stack object whose address an integer is."""
    if isinstance(value, ConstExpr) and value.op == "ptrtoint":
        target = value.operands[0]
        return target if isinstance(target, GlobalVariable) else None
    if isinstance(value, Instruction) and value.op == "ptrtoint":
        target = value.operands[0]
        if isinstance(target, GlobalVariable) or (isinstance(target, Instruction) and target.op == "alloca"):
            return target
    return None


def _shared(roots: Roots) -> Roots:
    """Those roots that are shared variables, of whose addresses half is enough."""
    return frozenset(r for r in roots if isinstance(r, GlobalVariable) and address_space(r) == SHARED_SPACE)


def _strength(roots: Roots) -> int:
    if any(isinstance(r, GlobalVariable) or (isinstance(r, Instruction) and r.op == "alloca") for r in roots):
        return 3
    return 2 if any(isinstance(r, Argument) for r in roots) else 1


def _stronger(a: Roots, b: Roots) -> Roots:
    """Which side of a sum is the address; neither where that cannot be told."""
    if not a or not b:
        return a or b
    if _strength(a) == _strength(b):
        return _NONE
    return a if _strength(a) > _strength(b) else b
