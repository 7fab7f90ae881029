"""Names that functions of a compiled module cannot have, since calls of them mean the C library's."""

from __future__ import annotations

_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "hypot",
    "ilogb", "j0", "j1", "jn", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb",
    "lrint", "lround", "modf", "nearbyint", "nextafter", "pow", "powi", "remainder", "remquo", "rint", "round",
    "roundeven", "scalbln", "scalbn", "sin", "sincos", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1",
    "yn",
)  # fmt: skip
_OTHERS = (
    "abort", "abs", "bcmp", "bcopy", "bzero", "calloc", "exit", "ffs", "ffsl", "ffsll", "fputc", "free", "fwrite",
    "isascii", "isdigit", "labs", "llabs", "main", "malloc", "memccpy", "memchr", "memcmp", "memcpy", "memmove",
    "mempcpy", "memset", "printf", "putchar", "puts", "realloc", "stpcpy", "strcat", "strchr", "strcmp", "strcpy",
    "strlen", "strncmp", "strncpy", "toascii",
)  # fmt: skip

LIBRARY_NAMES = frozenset([*_MATH, *(f"{name}{suffix}" for name in _MATH for suffix in "fl"), *_OTHERS])
"""What weft and LLVM's code generator call by name, or LLVM knows the meaning of."""
