"""Names in scope while PTX is read: an operand that is a name can be a register, a special register or a symbol."""

from __future__ import annotations

from weft.ptx.special_registers import is_special
from weft.ptx.syntax import Register, RegisterDeclaration, SpecialRegister, Symbol

_NONE: dict[str, int] = {}


class Names:
    """The registers of the scopes that are open, innermost last.

    Registers that are declared as a series are kept as their common beginning and their number, so that declaring
    many costs no more than declaring one.
    """

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        self._scopes: list[tuple[dict[str, bool], dict[str, int]]] = []

    def open(self) -> None:
        """Begin a scope."""
        self._scopes.append(({}, {}))

    def close(self) -> None:
        """End the innermost scope."""
        self._scopes.pop()

    def __len__(self) -> int:
        return len(self._scopes)

    def declare_registers(self, declaration: RegisterDeclaration) -> None:
        """Add the registers of a declaration to the innermost scope."""
        single, series = self._scopes[-1]
        for part in declaration.declared:
            if part.count is None:
                single[part.name] = True
            else:
                series[part.name] = max(part.count, series.get(part.name, 0))

    def declare(self, name: str, *, register: bool) -> None:
        """Add one name, which hides what the scopes around call so."""
        self._scopes[-1][0][name] = register

    def resolve(self, text: str) -> Register | SpecialRegister | Symbol:
        """What a name, with a component behind a dot or without, stands for here."""
        name, _, component = text.partition(".")
        head = name.rstrip("0123456789")
        digits = name[len(head) :]
        # %r12 may be number 12 of %r, or number 2 of %r1: each digit may begin the number.
        canonical = [
            (head + digits[:cut], int(digits[cut:]))
            for cut in range(len(digits))
            if digits[cut] != "0" or cut == len(digits) - 1
        ]
        for single, series in reversed(self._scopes):
            known = single.get(name)
            if known is not None:
                return Register(name, component) if known else Symbol(text)
            if series and any(number < series.get(prefix, 0) for prefix, number in canonical):
                return Register(name, component)
        if is_special(name):
            return SpecialRegister(name, component)
        return Symbol(text)
