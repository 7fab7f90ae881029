"""The types that an elementwise function is compiled for, and the one that it returns, as a NumPy ufunc chooses them.

Without signatures arrays keep their types, and a Python number takes that which NumPy gives it beside the arrays. With
signatures the first is taken that all arguments convert to without loss; a Python number fits every type of its kind
or of a greater one.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np
from msgspec import Struct, field

from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.typeof import from_dtype
from weft.frontend.python.types import (
    KernelType,
    Scalar,
    Signature,
    array_type,
    pycomplex,
    pyfloat,
    pyint,
    tuple_type,
)
from weft.loops.results import takes_number
from weft.runtime.cache import CacheEntry, default_cache
from weft.runtime.code_key import code_key
from weft.runtime.results import dtype_of_text, text_of_dtype
from weft.target.machine import TargetSpec

WEAK = {int: pyint, float: pyfloat, complex: pycomplex}
"""Python's numbers, whose types give way to those of arrays."""


class ElementTypes(Struct):
    """The types of one elementwise function.

    Attributes
    ----------
    function
        The function of numbers.
    nin
        How many arguments it has.
    signatures
        Those that it was declared for; none if it takes any numbers.
    results
        The type of the result for each tuple of argument types that was asked for.
    """

    function: FunctionType
    nin: int
    signatures: tuple[Signature, ...]
    results: dict[tuple[Scalar, ...], np.dtype[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for signature in self.signatures:
            if len(signature.args) != self.nin:
                raise SignatureError(
                    f"{signature} has {len(signature.args)} arguments, {self.name} {self.nin}"
                )

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return self.function.__name__

    def converted(self, args: Sequence[Any]) -> tuple[list[Any], tuple[Scalar, ...]]:
        """The arguments as arrays of the types that the function is compiled for, and these types.

        Raises
        ------
        ArgumentError
            No signature takes them, or a Python number does not fit its type.
        """
        arrays = [np.asarray(a) for a in args]
        weak = [type(a) in WEAK for a in args]
        wanted = self.chosen(arrays, weak)
        try:
            converted = [
                np.asarray(given, t.dtype) if is_weak else a if a.dtype == t.dtype else a.astype(t.dtype)
                for given, is_weak, a, t in zip(args, weak, arrays, wanted, strict=True)
            ]
        except OverflowError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        return converted, wanted

    def chosen(self, arrays: Sequence[np.ndarray[Any, Any]], weak: Sequence[bool]) -> tuple[Scalar, ...]:
        """The types that the function is compiled for when it is called with these; weak ones are Python's numbers.

        Raises
        ------
        ArgumentError
            No signature takes them.
        """
        if not self.signatures:
            strong = [a.dtype for a, is_weak in zip(arrays, weak, strict=True) if not is_weak]
            return tuple(
                number_type(np.result_type(a.item(), *strong) if is_weak and strong else a.dtype)
                for a, is_weak in zip(arrays, weak, strict=True)
            )
        for signature in self.signatures:
            wanted = tuple(t for t in signature.args if isinstance(t, Scalar))
            if len(wanted) == self.nin and all(map(_takes, wanted, arrays, weak)):
                return wanted
        given = ", ".join(str(a.dtype) for a in arrays)
        declared = "; ".join(map(str, self.signatures))
        raise ArgumentError(
            f"{self.name} has no signature for ({given})", hint=f"it was declared for {declared}"
        )

    def result(self, types: tuple[Scalar, ...]) -> np.dtype[Any]:
        """The type of the result for arguments of these types.

        Raises
        ------
        ArgumentError
            The function returns no number.
        """
        known = self.results.get(types)
        if known is None:
            known = self.results[types] = self._find_result(types)
        return known

    def _find_result(self, types: tuple[Scalar, ...]) -> np.dtype[Any]:
        for signature in self.signatures:
            if signature.args == types and isinstance(signature.result, Scalar):
                return signature.result.dtype
        # The front end takes longer to import than a call of kept code does.
        cache = default_cache()
        key = cache and code_key("element", self.function, types, None, TargetSpec.chosen())
        known = cache.get(key) if cache and key else None
        if known is not None:
            return dtype_of_text(known.metadata["result"])
        from weft.frontend.python.compile import compile_python

        made = compile_python(self.function, types, device=True).result
        if not isinstance(made, Scalar):
            raise ArgumentError(f"{self.name} returns {made}, and an elementwise function returns a number")
        if cache and key:
            cache.put(key, CacheEntry(b"", {"result": text_of_dtype(made.dtype)}))
        return made.dtype

    def line(self, types: Sequence[KernelType]) -> tuple[KernelType, ...]:
        """The types that the loop over contiguous arrays has for numbers of these types.

        Raises
        ------
        SignatureError
            They are not one number for each argument.
        """
        numbers = tuple(t for t in types if isinstance(t, Scalar))
        if len(numbers) != self.nin or len(types) != self.nin:
            raise SignatureError(f"{self.name} takes {self.nin} numbers, not ({', '.join(map(str, types))})")
        items = tuple(array_type(t, 1, "C", readonly=True) for t in numbers)
        return tuple_type(items), array_type(number_type(self.result(numbers)), 1, "C")


def number_type(dtype: np.dtype[Any]) -> Scalar:
    """The type of the elements of an array, in the byte order of this machine.

    Raises
    ------
    ArgumentError
        They are no numbers.
    """
    found = from_dtype(dtype.newbyteorder("="))
    if not isinstance(found, Scalar):
        raise ArgumentError(f"an elementwise function takes numbers, not {dtype}")
    return found


def _takes(wanted: Scalar, array: np.ndarray[Any, Any], weak: bool) -> bool:
    if weak:
        return takes_number(wanted.dtype, array)
    return np.can_cast(array.dtype, wanted.dtype, "safe")
