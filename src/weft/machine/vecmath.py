"""The vector math table: which library has which function, for which vectors, under which name.

LLVM turns ``llvm.exp.v16f32`` into sixteen scalar calls, so widening emits calls to a vector math library
itself. All functions here take and return whole vector registers by the platform's C convention, and none is
masked: they are total and do not trap, so a lane whose result is unwanted may run with any argument. It
should be an ordinary one, though: an exceptional argument in any lane sends many of them down a slow path.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.machine.targets import AVX2, AVX512, NEON, SSE2, SSE4, Isa

BINARY = frozenset({"atan2", "fmod", "hypot", "pow"})
"""The functions with two arguments; all others have one."""


_ORDINARY = {"acosh": 2.0, "atanh": 0.5}


class Variant(Struct, frozen=True):
    """A library's code for one vector width: the least level that runs it, and its mark in symbol names."""

    isa: Isa
    vector_bits: int
    mark: str


class VectorMathLibrary(Struct, frozen=True, eq=False):
    """One library.

    Parameters
    ----------
    name
        What users read and write.
    files
        Names under which the dynamic loader may know it.
    preload
        A library whose symbols it needs but does not ask for.
    symbol
        How its symbols are formed, from ``mark`` and ``lanes`` of the variant, ``name`` of the function,
        ``args`` (one v each), ``f`` ("f" for float32, else ""), ``fd`` ("f" or "d") and ``accuracy``.
    functions
        The functions it has, each as float32 and float64, by the name of the C function for double; with the
        largest error in units in the last place that the library's documentation admits.
    variants
        The vector widths it has code for, the best code of each width first.
    """

    name: str
    files: tuple[str, ...]
    preload: str | None
    symbol: str
    functions: Mapping[str, float]
    variants: tuple[Variant, ...]


class VectorFunction(Struct, frozen=True):
    """A function of a library for one vector type."""

    symbol: str
    library: VectorMathLibrary
    name: str
    element_bits: int
    lanes: int
    ulp: float

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return 2 if self.name in BINARY else 1


_COMMON = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "hypot", "cbrt", "erf", "erfc",
)  # fmt: skip

LIBMVEC = VectorMathLibrary(
    name="libmvec",
    files=("libmvec.so.1",),
    preload=None,
    symbol="_ZGV{mark}N{lanes}{args}_{name}{f}",
    functions=dict.fromkeys(_COMMON, 4.0),
    variants=(
        Variant(AVX512, 512, "e"),
        Variant(AVX2, 256, "d"),
        Variant(SSE2, 128, "b"),
        Variant(NEON, 128, "n"),
    ),
)

SVML = VectorMathLibrary(
    name="svml",
    files=("libsvml.so",),
    preload="libintlc.so.5",
    symbol="__svml_{name}{f}{lanes}",
    functions={**dict.fromkeys(_COMMON, 4.0), "fmod": 0.0},
    variants=(Variant(AVX512, 512, ""), Variant(AVX2, 256, ""), Variant(SSE2, 128, "")),
)

SLEEF = VectorMathLibrary(
    name="sleef",
    files=("libsleef.so.3",),
    preload=None,
    symbol="Sleef_{name}{fd}{lanes}_{accuracy}{mark}",
    functions={
        **dict.fromkeys(_COMMON, 1.0),
        "hypot": 0.5,
        "erfc": 1.5,
        "lgamma": 1.0,
        "tgamma": 1.0,
        "fmod": 0.0,
    },
    variants=(
        Variant(AVX512, 512, "avx512f"),
        Variant(AVX2, 256, "avx2"),
        Variant(AVX2, 128, "avx2128"),
        Variant(SSE4, 128, "sse4"),
        Variant(SSE2, 128, "sse2"),
        Variant(NEON, 128, "advsimd"),
    ),
)

LIBRARIES = (LIBMVEC, SVML, SLEEF)
"""In the order in which they are asked for a function: glibc's own first, which most machines have."""

_NAMES = frozenset(name for library in LIBRARIES for name in library.functions)


def function_in(
    library: VectorMathLibrary, name: str, element_bits: int, lanes: int, isa: Isa
) -> VectorFunction | None:
    """Return a library's function for vectors of so many lanes, or None when it has none.

    Parameters
    ----------
    library
        Where to look; whether it is installed is not asked (`weft.machine.vecmath_load`).
    name
        The C function for double.
    element_bits, lanes
        The vector's type: 32 or 64 bits a lane.
    isa
        What the generated code may use.
    """
    if name not in library.functions or element_bits not in (32, 64):
        return None
    for variant in library.variants:
        if variant.vector_bits == lanes * element_bits and _runs(variant.isa, isa):
            ulp = library.functions[name]
            symbol = library.symbol.format(
                mark=variant.mark,
                lanes=lanes,
                name=name,
                args="vv" if name in BINARY else "v",
                f="f" if element_bits == 32 else "",
                fd="f" if element_bits == 32 else "d",
                accuracy=f"u{round(ulp * 10):02}" if ulp else "",
            )
            return VectorFunction(symbol, library, name, element_bits, lanes, ulp)
    return None


def ordinary_argument(name: str) -> float:
    """Return an argument at which no library leaves the fast path of a function, nor raises an exception.

    It is 1 for most of them, but there `atanh` has its pole, and libmvec's `acosh` is up to six times as slow and
    raises an exception on AVX2.
    """
    return _ORDINARY.get(name, 1.0)


def math_function(callee: str) -> tuple[str, int] | None:
    """Return the function of the table, and its bits, that a scalar callee computes; None for any other.

    >>> math_function("expf"), math_function("llvm.sin.f64"), math_function("erf")
    (('exp', 32), ('sin', 64), ('erf', 64))
    """
    if callee.startswith("llvm."):
        name, _, suffix = callee.removeprefix("llvm.").rpartition(".")
        bits = {"f32": 32, "f64": 64}.get(suffix)
        return (name, bits) if bits and name in _NAMES else None
    if callee in _NAMES:
        return callee, 64
    name = callee.removesuffix("f")
    return (name, 32) if name in _NAMES else None


def _runs(needed: Isa, available: Isa) -> bool:
    return needed.arch == available.arch and needed.features <= available.features
