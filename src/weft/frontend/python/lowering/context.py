"""The state of lowering one function, and the tables through which its modules call each other.

A function is lowered by walking its syntax tree once: each expression yields a `Typed` value and emits its
instructions. A variable's type is the join of its assignments, so a walk that finds a join different from what
it has assumed is thrown away and repeated under the new assumption (`instances.lower_function`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from weft.diag.errors import UnsupportedError, WeftError
from weft.frontend.python.lowering.arrays.heap import Frame
from weft.frontend.python.lowering.arrays.known_extents import KnownExtents
from weft.frontend.python.lowering.facts import facts_for
from weft.frontend.python.lowering.places import Places
from weft.frontend.python.scope import scope_of
from weft.ir.block import BasicBlock
from weft.ir.builder import Builder
from weft.ir.metadata import DbgRecord, DebugLoc
from weft.ir.types import Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.diag.source import SourceSpan
    from weft.frontend.python.lowering.calls.instances import Instance
    from weft.frontend.python.lowering.calls.typed import Typed
    from weft.frontend.python.lowering.unit import Unit
    from weft.frontend.python.lowering.variables import VariableTable
    from weft.frontend.python.source import FunctionSource
    from weft.ir.function import Function

ExpressionHandler = Callable[["Lowering", Any], "Typed"]
StatementHandler = Callable[["Lowering", Any], None]
EXPRESSIONS: dict[type[ast.AST], ExpressionHandler] = {}
STATEMENTS: dict[type[ast.AST], StatementHandler] = {}
_E = TypeVar("_E", bound=ExpressionHandler)
_S = TypeVar("_S", bound=StatementHandler)
_LEAVES = (ast.Return, ast.Continue, ast.Break)


def expression(*kinds: type[ast.AST]) -> Callable[[_E], _E]:
    """Enter a function into the table of expressions."""

    def enter(handler: _E) -> _E:
        EXPRESSIONS.update(dict.fromkeys(kinds, handler))
        return handler

    return enter


def statement(*kinds: type[ast.AST]) -> Callable[[_S], _S]:
    """Enter a function into the table of statements."""

    def enter(handler: _S) -> _S:
        STATEMENTS.update(dict.fromkeys(kinds, handler))
        return handler

    return enter


class NotYetTyped(Exception):
    """A value is needed whose type this walk has not found; a later walk may know it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.span: SourceSpan | None = None


class Lowering:
    """One walk over one function.

    Attributes
    ----------
    unit, instance, source, scope
        What is being compiled.
    builder
        Where instructions go; its block is None where control cannot come.
    function, entry
        The IR function, and its first block, which holds the allocas.
    exit
        The block that returns.
    variables
        Local variables.
    loops
        Targets of ``break`` and ``continue``, innermost last.
    facts
        Lower bounds of variables that hold in the code being lowered because of the conditions around it.
    frame
        What it allocates.
    places
        Which blocks control comes through before others.
    known
        What is known of extents.
    stack
        The functions being lowered, from the kernel to this one.
    unrolled
        How many loops unrolled at compile time are around the code being lowered.
    waiting
        The first value whose type was not known in this walk.
    """

    __slots__ = (
        "builder", "debug_records", "entry", "entry_builder", "exit", "facts", "frame", "function", "instance",
        "known", "loops", "places", "scope", "source", "stack", "subprogram", "unit", "unrolled", "variables",
        "waiting",
    )  # fmt: skip

    def __init__(
        self,
        unit: Unit,
        instance: Instance,
        source: FunctionSource,
        function: Function,
        variables: VariableTable,
        stack: list[Instance],
    ) -> None:
        self.unit = unit
        self.instance = instance
        self.source = source
        self.scope = scope_of(source.node)
        self.function = function
        self.entry = function.add_block("entry")
        self.entry_builder = Builder(self.entry)
        self.exit = BasicBlock("exit", function)
        self.builder = Builder()
        self.debug_records: list[DbgRecord] = []
        self.variables = variables
        self.stack = stack
        self.loops: list[tuple[BasicBlock, BasicBlock]] = []
        self.facts: dict[str, int] = {}
        self.frame = Frame()
        self.places = Places()
        self.known = KnownExtents(self)
        self.unrolled = 0
        self.waiting: NotYetTyped | None = None
        line = source.node.lineno + source.line_offset
        self.subprogram = unit.debug_info.subprogram(source.name, source.file, line)

    def start_body(self) -> None:
        """Begin the block after the entry."""
        body = self.new_block("body")
        self.function.blocks.append(body)
        self.places.start_body(body)
        self.builder.at_end(body)

    def at(self, node: ast.AST) -> None:
        """Let what is emitted next come from `node`."""
        line = node.lineno + self.source.line_offset  # type: ignore[attr-defined]
        self.builder.loc = DebugLoc(line, node.col_offset + 1, self.subprogram)  # type: ignore[attr-defined]

    def span(self, node: ast.AST) -> SourceSpan:
        return self.source.span(node)

    def expr(self, node: ast.expr) -> Typed:
        """Lower an expression."""
        value = self.operand(node)
        try:
            return value.settled(self)
        except WeftError as error:
            error.at(self.span(node))
            raise

    def operand(self, node: ast.expr) -> Typed:
        """Lower an expression whose value may be an array that is not computed yet."""
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            raise unsupported(node).at(self.span(node))
        try:
            return handler(self, node)
        except (WeftError, NotYetTyped) as problem:
            self.place(problem, node)
            raise

    def place(self, problem: WeftError | NotYetTyped, node: ast.expr | ast.stmt) -> None:
        """Say where a problem is that does not know it."""
        if isinstance(problem, WeftError):
            problem.at(self.span(node))
        else:
            problem.span = problem.span or self.span(node)

    def body(self, statements: list[ast.stmt]) -> None:
        """Lower statements in order, up to where control cannot come."""
        before = self.facts
        for position, node in enumerate(statements):
            if self.is_dead:
                break
            self.statement(node)
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
                rest = statements[position + 1 :]
                self.facts = {**self.facts, **facts_for(self, node.test, False, rest)}
        self.facts = before

    def statement(self, node: ast.stmt) -> None:
        handler = STATEMENTS.get(type(node))
        if handler is None:
            raise unsupported(node).at(self.span(node))
        self.at(node)
        try:
            handler(self, node)
        except WeftError as error:
            error.at(self.span(node))
            raise
        except NotYetTyped as waiting:
            # The rest may tell what the next walk needs.
            waiting.span = waiting.span or self.span(node)
            self.waiting = self.waiting or waiting

    @property
    def is_dead(self) -> bool:
        """Whether control cannot come here."""
        return self.builder.block is None

    def new_block(self, name: str) -> BasicBlock:
        """A block that has no place in the function yet."""
        return BasicBlock(name, self.function)

    def start(self, block: BasicBlock) -> None:
        """Go on in `block`, placed last; where nothing branches to it, control cannot come."""
        if block.users:
            self.function.blocks.append(block)
            self.places.start(block)
            self.builder.at_end(block)
        else:
            self.builder.block = None

    def branch(self, target: BasicBlock) -> None:
        """Jump to `target`, from wherever control can come."""
        if not self.is_dead:
            self.builder.br(target)
            self.builder.block = None

    def branch_if(self, condition: Value, then: BasicBlock, otherwise: BasicBlock) -> None:
        self.builder.cond_br(condition, then, otherwise)
        self.builder.block = None

    def alloca(self, type: Type, name: str, align: int = 0) -> Value:
        """An object of the function's frame, made once in the entry block."""
        self.entry_builder.loc = None
        return self.entry_builder.alloca(type, align=align, name=name)

    @contextmanager
    def knowing(self, facts: dict[str, int]) -> Iterator[None]:
        """Lower code in which these lower bounds of variables hold too."""
        before = self.facts
        if facts:
            known = {name: max(low, before.get(name, low)) for name, low in facts.items()}
            self.facts = {**before, **known}
        try:
            yield
        finally:
            self.facts = before


_REMEDIES: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.ListComp: ("a list comprehension", "write a for loop over a cuda.local.array"),
    ast.SetComp: ("a set comprehension", "write a for loop"),
    ast.DictComp: ("a dict comprehension", "write a for loop"),
    ast.GeneratorExp: ("a generator expression", "write a for loop"),
    ast.List: ("a list that may change", "use a tuple, or cuda.local.array for elements that change"),
    ast.Dict: ("a dict", "use a named tuple or a structured array"),
    ast.Set: ("a set", "use a tuple"),
    ast.Yield: ("yield", "write the values to an array"),
    ast.YieldFrom: ("yield from", "write the values to an array"),
    ast.Await: ("await", None),
    ast.Starred: ("a starred expression here", "write the items out"),
    ast.AsyncFunctionDef: ("async def", "define a plain function outside"),
    ast.ClassDef: ("a class definition", "use a named tuple or a structured dtype defined outside"),
    ast.Try: ("try", "test for the exceptional case with if"),
    ast.Raise: ("raise", "use assert (checked with debug=True), or write an error code to an array"),
    ast.With: ("with", None),
    ast.AsyncWith: ("async with", None),
    ast.AsyncFor: ("async for", "write a plain for"),
    ast.Import: ("import", "import at module level"),
    ast.ImportFrom: ("import", "import at module level"),
    ast.Global: ("global", "pass an array and write to it"),
    ast.Nonlocal: ("nonlocal", "pass an array and write to it"),
    ast.Delete: ("del", "leave it out: variables end with the function"),
    ast.Match: ("match", "write if and elif"),
}
for _name in ("TryStar", "TypeAlias"):
    if hasattr(ast, _name):
        _REMEDIES[getattr(ast, _name)] = (_name.lower(), None)


def unsupported(node: ast.AST) -> UnsupportedError:
    """The error for syntax outside the language."""
    what, hint = _REMEDIES.get(type(node), (type(node).__name__, None))
    return UnsupportedError(f"{what} is not supported in kernels", hint=hint)
