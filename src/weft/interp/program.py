"""Programs ready to run: decoded functions, and globals in memory."""

from __future__ import annotations

import threading
from typing import cast

from weft.diag.errors import InterpError, UnsupportedError
from weft.interp.code import Code, Environment
from weft.interp.lanes import LaneValue
from weft.interp.memory.memory import Memory
from weft.interp.numbers.constants import constant_value, store_initializer
from weft.ir.constants import ConstExpr
from weft.ir.function import Function, GlobalVariable, Module
from weft.ir.layout import DataLayout

_FIRST_CODE_ADDRESS = 1 << 60
_CODE_STEP = 16


class Program:
    """A module with a cache of its decoded functions; change the module and you need a new `Program`."""

    __slots__ = ("_codes", "_decoding", "layout", "module")

    def __init__(self, module: Module) -> None:
        self.module = module
        self.layout: DataLayout = module.layout
        self._codes: dict[Function, Code] = {}
        self._decoding = threading.RLock()

    def code(self, function: Function) -> Code:
        """The decoded function, decoded at the first call, by one thread: images know it by its identity."""
        found = self._codes.get(function)
        if found is not None:
            return found
        # The decoder needs the table of semantics, whose entries need this module's classes.
        from weft.interp.decode import decode_function

        with self._decoding:
            found = self._codes.get(function)
            if found is None:
                found = self._codes[function] = decode_function(function, self)
        return found

    def function(self, name: str) -> Function:
        found = self.module.functions.get(name)
        if found is None or found.is_declaration:
            raise InterpError(f"the module defines no function @{name}")
        return found


class Image:
    """A program with its globals in one memory."""

    __slots__ = ("_addresses", "_environments", "_functions", "memory", "program")

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program = program
        self.memory = memory
        self._addresses: dict[Function | GlobalVariable, int] = {}
        self._functions: dict[int, Function] = {}
        self._environments: dict[int, Environment] = {}

    def address(self, target: Function | GlobalVariable) -> int:
        """The address of a function or global variable, placed in memory when first asked for."""
        found = self._addresses.get(target)
        if found is None:
            found = self._place(target)
        return found

    def function_at(self, address: int) -> Function | None:
        return self._functions.get(address)

    def environment(self, code: Code) -> Environment:
        """The environment a call of `code` starts from: its constants. Not to be changed."""
        found = self._environments.get(id(code))
        if found is None:
            found = cast(Environment, [None] * code.slots)
            for slot, constant in code.constants:
                found[slot] = constant_value(constant, self.address, self.evaluate)
            self._environments[id(code)] = found
        return found

    def evaluate(self, expression: ConstExpr) -> LaneValue:
        """The value of a constant expression."""
        from weft.interp.decode import evaluate_expression

        return evaluate_expression(expression, self)

    def _place(self, target: Function | GlobalVariable) -> int:
        if isinstance(target, Function):
            address = _FIRST_CODE_ADDRESS + _CODE_STEP * (len(self._functions) + 1)
            self._functions[address] = target
            self._addresses[target] = address
            return address
        if target.initializer is None:
            raise UnsupportedError(f"@{target.name} is declared without a value")
        layout = self.program.layout
        size = layout.size(target.value_type)
        align = max(target.linkage.align, layout.align(target.value_type))
        made = self.memory.allocate(size, f"global @{target.name}", align=align, initialized=True)
        self._addresses[target] = made.base
        store_initializer(made, 0, target.initializer, layout, self.address, self.evaluate)
        if made.state is not None and not made.state.any():
            made.state = None
        made.writable = not target.is_constant
        return made.base
