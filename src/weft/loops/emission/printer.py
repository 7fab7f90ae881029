"""What printers of all languages have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

from weft.loops.emission.tree import Node

ATOM = 20
"""How close what needs no parentheses binds."""


class Printer(ABC):
    """Writes expressions and statements."""

    end = ""
    """What stands behind a statement."""

    def text(self, node: Node, around: int = 0) -> str:
        """An expression, in parentheses if what is around it binds closer."""
        found, own = self._parts(node)
        return f"({found})" if own < around else found

    @abstractmethod
    def _parts(self, node: Node) -> tuple[str, int]:
        """The text of an expression, and how close its operator binds."""

    def _assignment(self, name: str, value: Node) -> str:
        if value.op in ("+", "-", "*", "/") and self.text(value.args[0]) == name:
            return f"{name} {value.op}= {self.text(value.args[1])}{self.end}"
        if value.op in ("+", "*") and self.text(value.args[1]) == name:
            # Sums and products do not depend on the order of two.
            return f"{name} {value.op}= {self.text(value.args[0])}{self.end}"
        return f"{name} = {self.text(value)}{self.end}"
