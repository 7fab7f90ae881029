"""What decorators of weft make of functions, in pickles: by name where the name leads to it, else written out.

A name in ``__main__`` leads to something else in most processes, so such a function is written out, too, and found by
its name only where that is the same function. Written out is the code with the globals and the closure that it uses,
the same of every function it reaches that no import finds, and the text of their files: they are compiled where the
pickle goes. As the code is marshalled, that needs the same version of Python.

Pickles of equal functions become one object in a process, as long as that is one of the last `_LATEST` or in use: who
sends a function with each of many tasks has it compiled, or loaded from the compile cache, once.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import marshal
import sys
import uuid
import weakref
from collections import deque
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from msgspec import Struct, field

from weft.frontend.python.encoding import encode_code
from weft.frontend.python.fingerprint import full_fingerprint
from weft.frontend.python.source_text import carry_text, text_of_file

_LATEST = 256

_restored_before: weakref.WeakValueDictionary[tuple[str, ...], Portable] = weakref.WeakValueDictionary()
_latest: deque[Portable] = deque(maxlen=_LATEST)

_READS_A_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


class Portable:
    """Base of what a decorator makes of a function: a subclass takes the function, then `_options`."""

    py_func: Any

    def _options(self) -> tuple[Any, ...]:
        """What the class is called with, behind the function."""
        return ()

    def __reduce__(self) -> str | tuple[Any, ...]:
        function = self.py_func
        module, name = function.__module__, function.__qualname__
        if module != "__main__" and _found(module, name) is self:
            return name
        # The object comes first and what is in it afterwards: functions may name each other in turn.
        identity = self._identity()
        made = type(self), module, name, encode_code(function.__code__), identity
        return _unfinished, made, (_written_out(function), self._options(), identity)

    def _identity(self) -> tuple[str, ...] | None:
        """What equal functions have in common, in all processes; None where that cannot be told."""
        digest, function = full_fingerprint(self.py_func), self.py_func
        if digest is None:
            return None
        code = function.__code__
        place = function.__module__, function.__qualname__, code.co_filename, str(code.co_firstlineno)
        return type(self).__qualname__, *place, digest, repr(self._options())

    def __dask_tokenize__(self) -> Any:
        """What names tasks of Dask's: of what cannot be told apart each one is another."""
        return self._identity() or uuid.uuid4().hex

    def __setstate__(self, state: tuple[WrittenOut, tuple[Any, ...], tuple[str, ...] | None]) -> None:
        if "py_func" in self.__dict__:
            return
        functions, options, identity = state
        cls: Any = type(self)
        cls.__init__(self, functions.restored(), *options)
        if identity is not None:
            _restored_before[identity] = self
            _latest.append(self)

    def __copy__(self) -> Any:
        """Return itself, as of a function."""
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _unfinished(
    cls: type[Portable], module: str, name: str, code: bytes | None, identity: tuple[str, ...] | None
) -> Portable:
    """What the name leads to, or what came before, if that is the same; else an object that gets its function later."""
    found = _found(module, name)
    if type(found) is cls and code is not None and encode_code(found.py_func.__code__) == code:
        return found
    known = None if identity is None else _restored_before.get(identity)
    return cls.__new__(cls) if known is None else known


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class _Place(Struct, frozen=True):
    """Stands for a module, by its name, or for a function that is written out, by its number."""

    at: str | int


class _Function(Struct):
    """One function: marshalled code, names, and what it refers to; `names` is the number of its globals."""

    code: bytes
    name: str
    qualified_name: str
    doc: str | None
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None
    closure: tuple[tuple[Any, ...], ...] | None
    names: int


class WrittenOut(Struct):
    """Functions as values that every pickler takes.

    Parameters
    ----------
    wanted
        The function that is asked for, or its place.
    functions
        Those that no import finds.
    names
        The globals of each of their modules: the module's name, and what they use.
    texts
        The text of each of their files.
    """

    wanted: Any = None
    functions: list[_Function] = field(default_factory=list)
    names: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def restored(self) -> FunctionType:
        """Make the functions, and return the one asked for."""
        for file, text in self.texts.items():
            carry_text(file, text)
        spaces: list[dict[str, Any]] = [
            {"__name__": module, "__builtins__": builtins} for module, _ in self.names
        ]
        made: list[FunctionType] = []
        for state in self.functions:
            cells = None if state.closure is None else tuple(CellType() for _ in state.closure)
            code = marshal.loads(state.code)
            function = FunctionType(code, spaces[state.names], state.name, None, cells)
            function.__qualname__, function.__doc__ = state.qualified_name, state.doc
            made.append(function)
        for space, (_, used) in zip(spaces, self.names, strict=True):
            space.update((name, _restored(value, made)) for name, value in used.items())
        for function, state in zip(made, self.functions, strict=True):
            function.__defaults__ = _restored(state.defaults, made)
            if state.keyword_defaults is not None:
                function.__kwdefaults__ = {k: _restored(v, made) for k, v in state.keyword_defaults.items()}
            for cell, content in zip(function.__closure__ or (), state.closure or (), strict=True):
                for value in content:
                    cell.cell_contents = _restored(value, made)
        return _restored(self.wanted, made)


def _restored(value: Any, functions: list[FunctionType]) -> Any:
    if isinstance(value, _Place):
        return functions[value.at] if isinstance(value.at, int) else importlib.import_module(value.at)
    if type(value) is tuple:
        return tuple(_restored(item, functions) for item in value)
    return value


def _written_out(function: FunctionType) -> WrittenOut:
    """Return a function, and those it reaches, as values."""
    writer = _Writer()
    writer.made.wanted = writer.value(function)
    return writer.made


class _Writer:
    """Collects functions in the order in which they are met."""

    __slots__ = ("made", "numbers", "spaces")

    def __init__(self) -> None:
        self.made = WrittenOut()
        self.numbers: dict[FunctionType, int] = {}
        self.spaces: dict[int, int] = {}

    def _place_of(self, function: FunctionType) -> _Place:
        number = self.numbers.get(function)
        if number is None:
            number = self.numbers[function] = len(self.numbers)
            code, names = function.__code__, function.__globals__
            state = _Function(
                marshal.dumps(code),
                function.__name__,
                function.__qualname__,
                function.__doc__,
                None,
                None,
                None,
                self._space(function),
            )
            self.made.functions.append(state)
            state.defaults = self.value(function.__defaults__)
            if function.__kwdefaults__ is not None:
                state.keyword_defaults = {k: self.value(v) for k, v in function.__kwdefaults__.items()}
            if function.__closure__ is not None:
                state.closure = tuple(map(self._content, function.__closure__))
            used = self.made.names[state.names][1]
            for name in _globals_of(code):
                if name in names and name not in used:
                    # Before what it leads to, which may use the same name.
                    used[name] = None
                    used[name] = self.value(names[name])
            text = text_of_file(code, names)
            if text is not None:
                self.made.texts[code.co_filename] = text
        return _Place(number)

    def _space(self, function: FunctionType) -> int:
        """The number of a function's globals."""
        number = self.spaces.setdefault(id(function.__globals__), len(self.spaces))
        if number == len(self.made.names):
            self.made.names.append((function.__module__, {}))
        return number

    def _content(self, cell: CellType) -> tuple[Any, ...]:
        """What is in a cell: nothing, or one value."""
        try:
            return (self.value(cell.cell_contents),)
        except ValueError:
            return ()

    def value(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return _Place(value.__name__)
        if type(value) is tuple:
            return tuple(map(self.value, value))
        if not isinstance(value, FunctionType):
            return value
        module = value.__module__
        by_name = module != "__main__" and _found(module, value.__qualname__) is value
        return value if by_name else self._place_of(value)


def _globals_of(code: CodeType) -> set[str]:
    """The globals that a code object reads, and those inside it."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in _READS_A_GLOBAL}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _globals_of(constant)
    return names
