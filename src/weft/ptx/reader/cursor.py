"""A place in the tokens, and the steps that every part of the reader takes."""

from __future__ import annotations

from typing import NoReturn

from weft.diag.errors import PtxError
from weft.ptx.names import Names
from weft.ptx.reader.lexer import END, tokenize
from weft.ptx.source import Source
from weft.ptx.special_registers import is_special
from weft.ptx.syntax import Operand, Register, SpecialRegister, Symbol


class Cursor:
    """Where the reader is.

    Attributes
    ----------
    source, tokens, starts
        The text, its tokens, and the offset of each.
    at
        The number of the token that comes next.
    names
        The names in scope: True for registers.
    operands
        Operands of a single token that have been read in this scope: most come again.
    """

    __slots__ = ("at", "names", "operands", "source", "starts", "tokens")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens, self.starts = tokenize(source)
        self.at = 0
        self.names: Names[bool] = Names()
        self.operands: dict[str, Operand] = {}

    def resolve(self, text: str) -> Register | SpecialRegister | Symbol:
        """What a name, with a component behind a dot or without, stands for here."""
        name, _, component = text.partition(".")
        known = self.names.find(name)
        if known:
            return Register(name, component)
        if known is None and is_special(name):
            return SpecialRegister(name, component)
        return Symbol(text)

    @property
    def token(self) -> str:
        """The token that comes next."""
        return self.tokens[self.at]

    def take(self) -> str:
        """Step over a token and return it."""
        token = self.tokens[self.at]
        if token == END:
            self.fail("the text ends here, in the middle of something")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Step over the token if it comes next; say whether it did."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str, where: str) -> None:
        """Step over a token that has to come next."""
        if self.tokens[self.at] != token:
            self.fail(f"expected '{token}' {where}, found {self.found()}")
        self.at += 1

    def expect_end(self, where: str) -> None:
        """Step over the semicolon that ends a statement; a missing one is shown behind the last token."""
        if self.tokens[self.at] != ";":
            begin = self.starts[self.at - 1]
            end = begin + len(self.tokens[self.at - 1])
            if self.source.line(begin) != self.source.line(self.starts[self.at]):
                raise PtxError(f"expected ';' {where}", self.source.span(end, end + 1))
            self.fail(f"expected ';' {where}, found {self.found()}")
        self.at += 1

    def identifier(self, what: str) -> str:
        """Step over a name and return it."""
        token = self.tokens[self.at]
        if not is_name(token):
            self.fail(f"expected {what}, found {self.found()}")
        self.at += 1
        return token

    def string(self) -> str:
        """Step over a string and return what is in its quotes."""
        if not self.token.startswith('"'):
            self.fail(f"expected a string, found {self.found()}")
        return self.take()[1:-1]

    def found(self) -> str:
        """The next token, for a message."""
        return f"'{self.token}'" if self.token else "the end of the text"

    def place(self) -> tuple[int, int]:
        """Line and column of the next token."""
        start = self.starts[self.at]
        line = self.source.line(start)
        return line, start - self.source.starts[line - 1] + 1

    def fail(self, message: str, hint: str | None = None, *, at: int | None = None) -> NoReturn:
        """Raise an error at the next token, or at token number `at`."""
        raise self.error(message, hint, at=at)

    def error(self, message: str, hint: str | None = None, *, at: int | None = None) -> PtxError:
        """The error that `fail` raises."""
        at = self.at if at is None else at
        begin = self.starts[at]
        return PtxError(message, self.source.span(begin, begin + len(self.tokens[at])), hint)


def is_name(token: str) -> bool:
    """Whether a token is a name."""
    return token[:1].isalpha() or token[:1] in {"_", "$"} or (token[:1] == "%" and len(token) > 1)
