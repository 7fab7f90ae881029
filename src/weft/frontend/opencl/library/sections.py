"""Which source of the library has which builtins: one table, by the sections of the OpenCL C specification."""

from __future__ import annotations

import functools
import re

SECTIONS: dict[str, tuple[str, ...]] = {
    "workitem": (
        "get_work_dim", "get_global_size", "get_global_id", "get_local_size", "get_enqueued_local_size",
        "get_local_id", "get_num_groups", "get_group_id", "get_global_offset", "get_global_linear_id",
        "get_local_linear_id", "get_sub_group_size", "get_max_sub_group_size", "get_num_sub_groups",
        "get_enqueued_num_sub_groups", "get_sub_group_id", "get_sub_group_local_id",
    ),
    "integer": (
        "abs", "abs_diff", "add_sat", "hadd", "rhadd", "clamp", "clz", "ctz", "mad_hi", "mad_sat", "max", "min",
        "mul_hi", "rotate", "sub_sat", "upsample", "popcount", "mad24", "mul24", "bitfield_insert",
        "bitfield_extract_signed", "bitfield_extract_unsigned", "bit_reverse", "dot", "dot_acc_sat",
        "dot_4x8packed_uu_uint", "dot_4x8packed_ss_int", "dot_4x8packed_us_int", "dot_4x8packed_su_int",
        "dot_acc_sat_4x8packed_uu_uint", "dot_acc_sat_4x8packed_ss_int", "dot_acc_sat_4x8packed_us_int",
        "dot_acc_sat_4x8packed_su_int",
    ),
    "common": ("clamp", "degrees", "max", "min", "mix", "radians", "step", "smoothstep", "sign"),
    "math_exact": (
        "ceil", "copysign", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fract", "frexp", "ilogb", "ldexp",
        "logb", "mad", "maxmag", "minmag", "modf", "nan", "nextafter", "remainder", "remquo", "rint", "round", "sqrt",
        "trunc",
    ),
    "math": (
        "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atanh", "atanpi", "atan2pi", "cbrt",
        "cos", "cosh", "cospi", "erfc", "erf", "exp", "exp2", "exp10", "expm1", "hypot", "lgamma", "lgamma_r", "log",
        "log2", "log10", "log1p", "pow", "pown", "powr", "rootn", "rsqrt", "sin", "sincos", "sinh", "sinpi", "tan",
        "tanh", "tanpi", "tgamma",
        *(
            f"{kind}_{name}"
            for kind in ("half", "native")
            for name in (
                "cos", "divide", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "recip", "rsqrt", "sin",
                "sqrt", "tan",
            )
        ),
    ),
    "geometric": (
        "cross", "dot", "distance", "length", "normalize", "fast_distance", "fast_length", "fast_normalize",
    ),
    "relational": (
        "isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater", "isfinite",
        "isinf", "isnan", "isnormal", "isordered", "isunordered", "signbit", "any", "all", "bitselect", "select",
    ),
    "shuffle": ("shuffle", "shuffle2"),
    "async": ("async_work_group_copy", "async_work_group_strided_copy", "wait_group_events", "prefetch"),
    "atomics": tuple(
        f"{prefix}_{name}"
        for prefix in ("atomic", "atom")
        for name in ("add", "sub", "xchg", "inc", "dec", "cmpxchg", "min", "max", "and", "or", "xor")
    ),
    "atomic_objects": (
        "atomic_init",
        *(
            f"atomic_{name}{form}"
            for name in (
                "store", "load", "exchange", "compare_exchange_strong", "compare_exchange_weak", "fetch_add",
                "fetch_sub", "fetch_or", "fetch_xor", "fetch_and", "fetch_min", "fetch_max", "flag_test_and_set",
                "flag_clear",
            )
            for form in ("", "_explicit")
        ),
    ),
    "images": (
        *(f"{access}_image{kind}" for access in ("read", "write") for kind in ("f", "i", "ui", "h")),
        "get_image_width", "get_image_height", "get_image_depth", "get_image_dim", "get_image_array_size",
        "get_image_channel_data_type", "get_image_channel_order",
    ),
    "groups": (
        *(f"{kind}_group_{name}" for kind in ("work", "sub") for name in ("all", "any", "broadcast")),
        *(
            f"{kind}_group_{name}_{operation}"
            for kind in ("work", "sub")
            for name in ("reduce", "scan_inclusive", "scan_exclusive")
            for operation in ("add", "min", "max")
        ),
        *(f"sub_group_shuffle{form}" for form in ("", "_xor", "_up", "_down")),
    ),
    "synchronization": (
        "barrier", "work_group_barrier", "sub_group_barrier", "mem_fence", "read_mem_fence", "write_mem_fence",
        "atomic_work_item_fence",
    ),
}  # fmt: skip
"""Names of the builtins in each source, ``NAME.cl`` beside this file. A name may be in several, with other types."""

_FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"v(load|store)(2|3|4|8|16)"), "memory"),
    (re.compile(r"vloada?_half(2|3|4|8|16)?"), "halves"),
    (re.compile(r"vstorea?_half(2|3|4|8|16)?(_rt[eznp])?"), "halves"),
    (re.compile(r"convert_u?(char|short|int|long)(_sat)?(_rt[eznp])?"), "convert"),
    (re.compile(r"convert_(half|float|double)(_rt[eznp])?"), "convert"),
)
"""Sources of names that are made of parts."""


@functools.cache
def _by_name() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for section, names in SECTIONS.items():
        for name in names:
            table[name] = (*table.get(name, ()), section)
    return table


def sections_of(name: str) -> tuple[str, ...]:
    """Return the sources that may have a builtin; none where it is not one.

    >>> sections_of("clamp")
    ('integer', 'common')
    """
    # What relational functions return differs between scalars and elements of vectors: two functions.
    plain = name.removeprefix("__vector_")
    found = _by_name().get(plain)
    if found is not None:
        return found
    return next(((section,) for pattern, section in _FAMILIES if pattern.fullmatch(plain)), ())
