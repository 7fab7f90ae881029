"""What the code of a function depends on, as one digest, without compiling it.

The digest covers the function's byte code, its defaults, its closure and the globals and builtins that it names, and
the same of every function it reaches. Of a module or class that it reaches, by whatever way, those attributes belong to
it that have a name which any of these functions writes: `Cfg.N`, members of enums, `package.constants.G`. That is more
than compiling reads, and never less. What comes with a version (Python's builtins, NumPy, numba, weft) counts by its
name and that version.
"""

from __future__ import annotations

import builtins
import enum
import functools
import hashlib
import sys
import types
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.diag.errors import WeftError
from weft.frontend.python.cuda_names import CudaName, cuda_name_of
from weft.frontend.python.encoding import (
    encode_code,
    encode_constant,
    encode_dtype,
    encode_named_tuple,
    encode_signature,
    encode_type,
    framed,
)
from weft.frontend.python.local_types import declared_for
from weft.frontend.python.signatures import as_type, declared_signatures
from weft.frontend.python.types import KernelType, Signature

_VERSIONED = frozenset({"weft", "numpy", "numba", "math", "cmath", "operator", "builtins"})
"""Packages whose contents change only with their version, and that no file of a user's takes the place of."""

_LITERALS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_OPAQUE = (
    list,
    dict,
    set,
    property,
    functools.cached_property,
    types.MethodType,
    types.MemberDescriptorType,
    type(namedtuple("_", "item").item),  # pyright: ignore[reportAttributeAccessIssue]
)
"""What no compiled code reads, but for which one it is: attributes have the names of such values, too."""

_MISSING = object()


def fingerprint(function: Callable[..., Any], *others: Callable[..., Any]) -> str | None:
    """The digest of `function`, of those that it is given, and of all they reach, in hexadecimal.

    None when they reach a value of unknown kind: such code is for this process only.
    """
    walk = _walk_from(function, *others)
    return None if walk is None else walk.digest.hexdigest()


def full_fingerprint(function: Callable[..., Any]) -> str | None:
    """The same, but None also where `function` reaches what compiled code does not read and Python would: a list, say.

    So functions with equal ones are equal to Python, too.
    """
    walk = _walk_from(function)
    return None if walk is None or walk.opaque else walk.digest.hexdigest()


def files_of(function: Callable[..., Any], *others: Callable[..., Any]) -> tuple[str, ...]:
    """The files of the functions whose code is in the digest, that of `function` first.

    They are no part of it: of functions with equal digests, the same code may be in other files.
    """
    walk = _walk_from(function, *others)
    return tuple(walk.files) if walk is not None else (function.__code__.co_filename,)


def _walk_from(*functions: Callable[..., Any]) -> _Walk | None:
    names: frozenset[str] = frozenset()
    while True:
        walk = _Walk(names)
        try:
            for function in functions:
                walk.add(function)
        except _UnknownValue:
            return None
        if walk.written <= names:
            return walk
        # Functions that were found may write names of attributes that count for what was looked at before them.
        names |= walk.written


class _UnknownValue(Exception):
    """The walk has met something whose part in compiled code cannot be told."""


class _Walk:
    """One way over all that a function reaches.

    Parameters
    ----------
    names
        Attributes that count.

    Attributes
    ----------
    opaque
        Whether it has come by a value that no compiled code reads.
    """

    __slots__ = ("digest", "files", "kept", "names", "opaque", "seen", "written")

    def __init__(self, names: frozenset[str]) -> None:
        self.names = sorted(names)
        self.written: set[str] = set()
        self.digest = hashlib.sha256()
        self.files: list[str] = []
        self.opaque = False
        self.seen: dict[int, int] = {}
        # What is seen stays alive, so that its id stays its own.
        self.kept: list[Any] = []

    def add(self, value: Any) -> None:
        """Add a value of any kind that a function can name."""
        if type(value) in _LITERALS:
            self._put(b"l", _known(encode_constant(value)))
        elif isinstance(value, np.generic):
            self._put(b"g", encode_dtype(value.dtype), value.tobytes())
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, np.dtype):
            self._put(b"d", encode_dtype(value))
        elif isinstance(value, enum.Enum):
            self._put(b"e", value.name)
            self.add(type(value))
        elif isinstance(value, tuple):
            self._put(
                b"t", encode_named_tuple(type(value) if hasattr(value, "_fields") else None), len(value)
            )
            for item in value:
                self.add(item)
        elif isinstance(value, KernelType):
            self._put(b"k", encode_type(value))
        elif isinstance(value, Signature):
            self._put(b"s", encode_signature(value))
        else:
            self._add_named(value)

    def _add_named(self, value: Any) -> None:
        """Add a value that counts by what can be called or found under its name."""
        if isinstance(value, types.ModuleType):
            self._add_module(value)
        elif (place := _versioned_place(value)) is not None:
            self._put(b"v", *place)
        elif isinstance(value, _OPAQUE):
            self.opaque = True
            if self._is_new(value):
                self._put(b"x")
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(function := getattr(value, "py_func", None), types.FunctionType):
            self._put(b"j", type(value).__module__, type(value).__qualname__)
            self.add(declared_signatures(value))
            self.add(function)
        elif isinstance(value, type):
            self._add_class(value)
        else:
            self._put(b"n", _name_in_kernels(value))

    def _put(self, tag: bytes, *parts: bytes | str | int) -> None:
        self.digest.update(framed(tag, *parts))

    def _is_new(self, value: Any) -> bool:
        """Whether a value is met for the first time; if it is not, its number stands for it."""
        known = self.seen.get(id(value))
        if known is None:
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
            return True
        self._put(b"=", known)
        return False

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        if array.dtype.hasobject:
            raise _UnknownValue
        self._put(b"a", encode_dtype(array.dtype), *array.shape)
        self.digest.update(np.ascontiguousarray(array).tobytes())

    def _add_module(self, module: types.ModuleType) -> None:
        if self._is_new(module):
            self._put(b"m", module.__name__)
            self._add_attributes(module)

    def _add_class(self, cls: type) -> None:
        if self._is_new(cls):
            self._put(b"c", encode_named_tuple(cls), _type_named(cls))
            if issubclass(cls, enum.Enum):
                for member in list(cls):
                    self._put(b"E", cls.__module__, cls.__qualname__, member.name)
                    self.add(member.value)
            self._add_attributes(cls)

    def _add_attributes(self, owner: Any) -> None:
        """Add what those attributes are that some function writes the name of."""
        for name in self.names:
            try:
                value = _attribute_of(owner, name)
            except Exception:
                raise _UnknownValue from None
            if value is not _MISSING:
                self._put(b".", name)
                self.add(value)

    def _add_function(self, function: types.FunctionType) -> None:
        if not self._is_new(function):
            return
        self._put(b"f", _known(encode_code(function.__code__)))
        self.files.append(function.__code__.co_filename)
        self.add(function.__defaults__ or ())
        for name, default in sorted((function.__kwdefaults__ or {}).items()):
            self._put(b"w", name)
            self.add(default)
        for name, type in declared_for(function):
            self._put(b"L", name, encode_type(type))
        if "__signature__" in function.__dict__:
            # It says how the function is called, instead of the code.
            raise _UnknownValue
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self._put(b"o")
        for name in _names_in(function.__code__):
            self.written.add(name)
            value = function.__globals__.get(name, _MISSING)
            if value is _MISSING:
                value = getattr(builtins, name, _MISSING)
            if value is not _MISSING:
                self._put(b"G", name)
                self.add(value)


def _known(encoded: bytes | None) -> bytes:
    if encoded is None:
        raise _UnknownValue
    return encoded


def _names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names that a code object writes, and those inside it."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_names_in(constant))
    return tuple(names)


def _versioned_place(value: Any) -> tuple[str, str] | None:
    """Where a thing that comes with a version is found, and the version; None for all else."""
    module = _module_of(value)
    package = module.partition(".")[0]
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if package not in _VERSIONED or not isinstance(name, str):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        return None
    return f"{module}:{name}", str(getattr(sys.modules[package], "__version__", sys.version))


def _module_of(value: Any) -> str:
    if isinstance(value, np.ufunc):
        return "numpy"
    module = getattr(value, "__module__", None)
    return module if isinstance(module, str) else ""


def _name_in_kernels(value: Any) -> bytes:
    """What a compile-time object of another kind means in kernels: a name of `cuda`, or a type of numba's."""
    name = value if isinstance(value, CudaName) else cuda_name_of(value)
    if name is not None:
        return framed(b"p", name.path)
    return _type_named(value) or _known(None)


def _type_named(value: Any) -> bytes:
    """The type that an object stands for in kernels, by its attributes perhaps; nothing when it is none."""
    try:
        return encode_type(as_type(value))
    except (WeftError, AssertionError, TypeError):
        return b""


def _attribute_of(owner: Any, name: str) -> Any:
    """An attribute, or `_MISSING`.

    Modules may make attributes when they are asked for, and warn of those with old names. The name may be meant for
    another owner, as `core` is of a package's own module and not of NumPy, so nobody is warned.
    """
    makes = isinstance(owner, types.ModuleType) and name not in vars(owner) and "__getattr__" in vars(owner)
    if not makes:
        return getattr(owner, name, _MISSING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(owner, name, _MISSING)
