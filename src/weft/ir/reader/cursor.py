"""The reader's state: a position in the tokens, and what is known of module and function so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.diag.errors import IRSyntaxError
from weft.ir.block import BasicBlock
from weft.ir.function import Function, GlobalValue, Module
from weft.ir.lexer import END, SourceText, name_of, tokenize
from weft.ir.types import StructType, Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.ir.constants import Constant
    from weft.ir.reader.metadata import MetadataTable


class ForwardValue(Value):
    """Stands for a local value until its definition is read."""

    __slots__ = ("position",)

    def __init__(self, type: Type, name: str, position: int) -> None:
        super().__init__(type, name)
        self.position = position


class Context(Struct):
    """What the parts of one module share while it is read."""

    module: Module
    metadata: MetadataTable
    symbols: dict[str, GlobalValue] = field(default_factory=dict)
    struct_positions: dict[str, int] = field(default_factory=dict)
    structs: dict[str, StructType] = field(default_factory=dict)
    attribute_groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    compound_types: dict[tuple[str, ...], Type] = field(default_factory=dict)
    constants: dict[tuple[int, str], Constant] = field(default_factory=dict)


class FunctionScope(Struct):
    """Names of the function being read. Keys are ``%name`` with quotes and escapes resolved."""

    function: Function
    values: dict[str, Value] = field(default_factory=dict)
    blocks: dict[str, BasicBlock] = field(default_factory=dict)
    forward_values: dict[str, ForwardValue] = field(default_factory=dict)
    forward_blocks: dict[str, int] = field(default_factory=dict)
    next_number: int = 0


class Cursor:
    """A position in a list of tokens."""

    __slots__ = ("context", "pos", "scope", "source", "tokens")

    def __init__(self, source: SourceText, context: Context, scope: FunctionScope | None = None) -> None:
        self.source = source
        self.tokens = tokenize(source.text)
        self.pos = 0
        self.context = context
        self.scope = scope

    @property
    def token(self) -> str:
        return self.tokens[self.pos]

    def take(self) -> str:
        """The current token, and go on to the next."""
        token = self.tokens[self.pos]
        if token == END:
            raise self.error("the text ends too early")
        self.pos += 1
        return token

    def accept(self, token: str) -> bool:
        """Pass `token` if it is the current one."""
        if self.tokens[self.pos] == token:
            self.pos += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if self.tokens[self.pos] != token:
            raise self.error(f"expected {token!r}, found {self.shown()}")
        self.pos += 1

    def shown(self) -> str:
        """The current token as messages show it."""
        token = self.token
        if token == END:
            return "the end of the text"
        return repr(token if len(token) < 60 else token[:57] + "...")

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> IRSyntaxError:
        """The exception to raise for the current token, or for token `at`."""
        return IRSyntaxError(message, self.source.span(self.pos if at is None else at), hint)

    def integer(self) -> int:
        """A decimal number."""
        token = self.tokens[self.pos]
        if not token.lstrip("-").isdigit():
            raise self.error(f"expected an integer, found {self.shown()}")
        self.pos += 1
        return int(token)

    def string(self) -> str:
        """The inside of a quoted string, escapes as written."""
        token = self.tokens[self.pos]
        if token[0] != '"' or token[-1] != '"' or len(token) < 2:
            raise self.error(f"expected a string, found {self.shown()}")
        self.pos += 1
        return token[1:-1]

    def name_of(self, token: str) -> str:
        """The name behind the ``%``, ``@`` or ``$`` of a token near the current one."""
        if len(token) < 2:
            raise self.error(f"expected a name behind {token!r}")
        return name_of(token)

    def local_key(self, token: str) -> str:
        """The key of a local token in `FunctionScope`."""
        return token if token[1:2] not in ('"', "") else f"%{self.name_of(token)}"

    def parenthesized_integer(self) -> int:
        self.expect("(")
        value = self.integer()
        self.expect(")")
        return value

    def skip_balanced(self) -> None:
        """Pass a bracket and everything up to its partner; only brackets of the same kind are counted."""
        opening = self.tokens[self.pos]
        if opening not in _PARTNER:
            raise self.error(f"expected a bracket, found {self.shown()}")
        closing, start, depth = _PARTNER[opening], self.pos, 0
        while True:
            try:
                end = self.tokens.index(closing, start)
            except ValueError:
                raise self.error(f"this {opening!r} is never closed") from None
            depth += self.tokens[start:end].count(opening) - 1
            start = end + 1
            if depth == 0:
                self.pos = start
                return

    def balanced_text(self) -> str:
        """The bracketed tokens from the current bracket to its partner, in one spelling whatever the blanks."""
        start = self.pos
        depth = 0
        while True:
            token = self.take()
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
                if depth == 0:
                    return join_tokens(self.tokens[start : self.pos])


_PARTNER = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENING = frozenset(_PARTNER)
_CLOSING = frozenset(_PARTNER.values())
_TIGHT = frozenset("),]>")


def join_tokens(tokens: list[str]) -> str:
    """Tokens as text with LLVM's usual blanks."""
    parts: list[str] = []
    previous = "("
    for token in tokens:
        tight = (
            token in _TIGHT or previous in ("(", "[", "<") or (token == "(" and previous not in (",", "x"))
        )
        parts.append(token if tight else f" {token}")
        previous = token
    return "".join(parts)
