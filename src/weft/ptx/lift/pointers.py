"""Pointers for the integers that are addresses: that of the root and an offset, or a φ of pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.ir import Argument, Builder, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.builder import address_space
from weft.ir.cfg_edit import arriving
from weft.ir.types import I8, I32, I64, PTR, FunctionType, IntType
from weft.ptx.lift.roots import RootAnalysis, variable_of


@dataclass(slots=True)
class Pointers:
    """Builds the pointers of one function.

    Parameters
    ----------
    function
        The function.
    analysis
        The roots of its integers.
    """

    function: Function
    analysis: RootAnalysis
    _pointers: dict[Value, Value] = field(default_factory=dict)
    _rests: dict[Value, Value] = field(default_factory=dict)
    _bases: dict[Value, Value] = field(default_factory=dict)

    def make_pointers(self, parameters: Sequence[Argument]) -> None:
        """Make pointers of the parameters that lead into memory."""
        builder = Builder.after_phis(self.function.entry)
        types = list(self.function.fn_type.params)
        for argument in parameters:
            users = list(argument.users)
            argument.type = PTR
            types[argument.index] = PTR
            if users:
                number = builder.cast("ptrtoint", argument, I64)
                for user in users:
                    user.replace_operand(argument, number)
                self._bases[number] = argument
                self.analysis.rename(argument, number)
        old = self.function.fn_type
        self.function.fn_type = FunctionType(old.result, tuple(types), old.vararg)

    def pointer(self, value: Value) -> Value:
        """The pointer that an integer is, built where the integer is known."""
        known = self._pointers.get(value)
        if known is None:
            known = self._pointers[value] = self._build_pointer(value)
        return known

    def _build_pointer(self, value: Value) -> Value:
        roots = self.analysis.roots(value)
        if len(roots) == 1 and self.analysis.is_whole(value):
            (root,) = roots
            base, rest = self._base(root), self._rest(value)
            builder = self.behind(later(value, rest))
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
            return self.behind(value).select(condition, *arms)
        if isinstance(value, Instruction) and roots and value.op in ("add", "sub"):
            a, b = value.operands
            if not self.analysis.roots(a) and value.op == "add":
                a, b = b, a
            builder = self.behind(value)
            offset: Value = b if value.op == "add" else builder.binary("sub", ConstInt(I64, 0), b)
            return builder.gep(I8, self.pointer(a), (offset,))
        return self.behind(value).cast("inttoptr", value, PTR)

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
                known = self.behind(root).cast("inttoptr", root, PTR)
            self._bases[root] = known
        return known

    def _rest(self, value: Value) -> Value:
        """What is added to the one root of an integer, as wide as the integer is."""
        known = self._rests.get(value)
        if known is not None:
            return known
        assert isinstance(value.type, IntType)
        zero = ConstInt(value.type, 0)
        if value in self.analysis.roots(value) or variable_of(value) is not None:
            rest: Value = zero
        else:
            assert isinstance(value, Instruction)
            rest = self._rest_of(value, zero)
        self._rests[value] = rest
        return rest

    def _rest_of(self, value: Instruction, zero: ConstInt) -> Value:
        builder = self.behind(value)
        match value.op:
            case "add" | "sub":
                a, b = value.operands
                if value.op == "add" and not (self.analysis.roots(a) & self.analysis.roots(value)):
                    a, b = b, a
                rest = self._rest(a)
                if isinstance(rest, ConstInt) and isinstance(b, ConstInt):
                    assert isinstance(value.type, IntType)
                    return ConstInt(value.type, rest.value + (b.value if value.op == "add" else -b.value))
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

    def behind(self, value: Value) -> Builder:
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


def later(value: Value, other: Value) -> Value:
    """Which of two values is known later, of which the second has been built from what the first has."""
    if not (isinstance(value, Instruction) and isinstance(other, Instruction)):
        return value
    block = value.block
    if block is None or other.block is not block:
        return value
    return max(value, other, key=block.instructions.index)
