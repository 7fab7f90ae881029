"""Functions that nothing but their arguments decides, by their names: C's mathematics and intrinsics of many targets.

``memory(none)`` does not say that: an id of the thread, of its lane or its stack needs no memory, and differs where the
arguments do not. Ids, sizes and votes are in `weft.ir.work_item_names`.
"""

from __future__ import annotations

import re

from weft.ir.heap import PREFIX as HEAP_PREFIX

_REAL = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "cospi", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma",
    "fmax", "fmaximum", "fmin", "fminimum", "fmod", "frexp", "hypot", "ilogb", "ldexp", "lgamma",
    "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "modf",
    "nearbyint", "nextafter", "nexttoward", "pow", "powi", "remainder", "remquo", "rint", "round",
    "roundeven", "rsqrt", "scalbln", "scalbn", "sin", "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh",
    "tgamma", "trunc", "j0", "j1", "jn", "y0", "y1", "yn",
)  # fmt: skip
_COMPLEX = (
    "abs", "acos", "acosh", "arg", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "pow",
    "proj", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
_INTEGER = (
    "abs", "labs", "llabs", "div", "ldiv", "lldiv", "ffs", "ffsl", "ffsll", "isalnum", "isalpha",
    "isdigit", "isspace", "toascii",
)  # fmt: skip
_FLOAT_SUFFIXES = ("", "f", "l", "f16", "f32", "f64", "f128")

LIBRARY = frozenset(
    (
        *(name + suffix for name in _REAL for suffix in _FLOAT_SUFFIXES),
        *(f"__{name}{suffix}_finite" for name in _REAL for suffix in ("", "f", "l")),
        *(f"c{name}{suffix}" for name in _COMPLEX for suffix in ("", "f", "l")),
        *(name for name in _INTEGER),
        *("finite", "isinf", "isnan", "__isinf", "__isnan", "__finite", "__signbit", "__fpclassify"),
        # What compilers call for types that the machine has no instructions for.
        *(f"__{op}{mode}" for op in ("mul", "div") for mode in ("sc3", "dc3", "xc3", "tc3")),
        *(f"__{op}ti3" for op in ("mul", "div", "udiv", "mod", "umod", "ashl", "ashr", "lshr")),
        *(f"__{op}sf2" for op in ("extendhf", "extendbf", "truncdf", "powi")),
        *("__truncsfhf2", "__truncdfhf2", "__truncsfbf2", "__truncdfbf2", "__gnu_h2f_ieee", "__gnu_f2h_ieee"),
        *("__powidf2", "__popcountdi2", "__popcountsi2", "__clzdi2", "__ctzdi2", "__bswapdi2"),
        HEAP_PREFIX + "bytes",
    )
)
"""Functions of C's mathematics and of compilers' run-time libraries, without those that keep state (``signgam``)."""

_GENERIC = re.compile(
    r"""llvm\.(
        abs | [su]min | [su]max | [su]cmp | [su](add|sub|mul)\.with\.overflow | [su](add|sub|shl)\.sat
      | [su](mul|div)\.fix(\.sat)? | bitreverse | bswap | ctpop | ctlz | cttz | fsh[lr] | clmul | pdep | pext
      | a?(sin|cos|tan)h? | atan2 | sincos(pi)? | sqrt | pow | powi | exp | exp2 | exp10 | log | log2 | log10 | ldexp
      | frexp | modf | fma | fmuladd | fabs | copysign | canonicalize | is\.fpclass | arithmetic\.fence
      | minnum | maxnum | minimum | maximum | minimumnum | maximumnum
      | floor | ceil | trunc | rint | nearbyint | round | roundeven | l?lrint | l?lround
      | fpto[su]i\.sat | convert\.(to|from)\.fp16 | fptrunc\.round | ptrmask | expect(\.with\.probability)?
      | is\.constant | objectsize | ssa\.copy | (launder|strip)\.invariant\.group | vscale
      | vector\.\w+(\.\w+)* | experimental\.vector\.\w+(\.\w+)* | experimental\.stepvector | get\.active\.lane\.mask
      | vp\.\w+(\.\w+)* | matrix\.(multiply|transpose) | experimental\.cttz\.elts | type\.test
    )(\.|$)""",
    re.VERBOSE,
)
"""LLVM's intrinsics for any target that are functions of their arguments."""

_OF_TARGETS = re.compile(
    r"""llvm\.(
        x86\.(mmx|sse\w*|ssse3|avx\w*|fma|f16c|xop|bmi|tbm|pclmulqdq|aesni|sha\w*|vgf2p8\w*)\.
      | aarch64\.(neon|crc32\w*|crypto|sve)(\.|$) | arm\.neon\.
      | nvvm\.(fabs|fmin|fmax|fma|add|mul|mul24|mulhi|div|rcp|sqrt|rsqrt|ex2|lg2|sin|cos|tanh|floor|ceil|round|trunc
              |saturate|abs|sad|neg|prmt|bitcast|lohi|[df]2\w+|u?[il]l?2\w+|idp[24]a)\.
      | amdgcn\.(rcp|rsq|sqrt|sin|cos|log|exp2|tanh|fract|ldexp|frexp|fmed3|fmul|fma|mul\.[iu]24|mulhi\.[iu]24|[us]bfe
              |perm|bitop3|cvt|lerp|sad|msad|qsad|mqsad|alignbit|alignbyte|div\.(scale|fmas|fixup)|class|cube\w*
              |trig\.preop|sffbh|fdot2|[su]dot\w*)(\.|$)
    )""",
    re.VERBOSE,
)
"""Mathematics of processors' own intrinsics. Registers, ids and votes are not among them."""


def follows_from_arguments(name: str) -> bool:
    """Whether the result of a function of this name is known to follow from its arguments."""
    if name.startswith("llvm."):
        return bool(_GENERIC.match(name) or _OF_TARGETS.match(name))
    return name in LIBRARY
