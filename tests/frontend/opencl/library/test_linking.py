"""What linking copies, and that there is a definition for every builtin that clang declares."""

from __future__ import annotations

import itertools
import os
import re

import llvmlite.binding as llvm
import pytest

from frontend.opencl.library.running import FLOATS, INTEGERS, compile_program, linked, vector
from weft.frontend.opencl.library import LinkOptions, link
from weft.frontend.opencl.library.mangling import demangle, mangle, parameter_type
from weft.frontend.opencl.library.sections import SECTIONS

FUZZ = bool(os.environ.get("WEFT_FUZZ"))
WIDTHS = (2, 3, 4, 8, 16) if FUZZ else (3,)
"""Vectors of all widths are made in one way."""
SIGNED = ("char", "short", "int", "long")
UNSIGNED = ("uchar", "ushort", "uint", "ulong")
MASKS = {"half": "ushort", "float": "uint", "double": "ulong"} | dict(zip(SIGNED, UNSIGNED, strict=True))
ALL = (*INTEGERS, *FLOATS)

MATH = {
    1: (
        "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10 expm1 "
        "fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc "
        "degrees radians sign ilogb isfinite isinf isnan isnormal signbit"
    ),
    2: (
        "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder max min step "
        "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered"
    ),
    3: "fma mad mix smoothstep clamp bitselect",
}
INTEGER = {
    1: "abs clz ctz popcount bit_reverse",
    2: "abs_diff add_sat hadd rhadd max min mul_hi rotate sub_sat",
    3: "clamp mad_hi mad_sat bitselect",
}
LOOSE = "cos exp exp2 exp10 log log2 log10 recip rsqrt sin sqrt tan"
SPACES = ("global", "local", "private", "generic")
MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")


def calls(types: str, *texts: str) -> list[str]:
    """Declarations of variables and the expressions that use them."""
    return [f"{{ {types} {text}; }}" for text in texts]


def mathematics() -> list[str]:
    lines = []
    for t, width in itertools.product(FLOATS, (1, *WIDTHS)):
        v, i = vector(t, width), vector("int", width)
        for arity, names in MATH.items():
            lines += calls(f"{v} x, y, z;", *(f"{n}({', '.join('xyz'[:arity])})" for n in names.split()))
        lines += calls(f"{v} x; {i} n;", *(f"{n}(x, n)" for n in ("ldexp", "pown", "rootn")))
        for space in ("global", "local", "private"):
            pointer = f"{space} {v} *p = 0; {space} {i} *q = 0; {v} x;"
            lines += calls(
                pointer, "fract(x, p)", "modf(x, p)", "sincos(x, p)", "frexp(x, q)", "lgamma_r(x, q)"
            )
            lines += calls(pointer, "remquo(x, x, q)")
        if width > 1:
            lines += calls(
                f"{v} x; {t} s; int n;",
                "fmax(x, s)",
                "fmin(x, s)",
                "max(x, s)",
                "clamp(x, s, s)",
                "ldexp(x, n)",
            )
            lines += calls(f"{v} x; {t} s;", "mix(x, x, s)", "step(s, x)", "smoothstep(s, s, x)")
        code, mask = (
            {"half": "ushort", "float": "uint", "double": "ulong"}[t],
            {"half": "short", "float": "int", "double": "long"}[t],
        )
        lines += calls(
            f"{v} x; {vector(code, width)} u; {vector(mask, width)} s;",
            "nan(u)",
            "select(x, x, u)",
            "select(x, x, s)",
        )
        if t == "float":
            names = [f"{kind}_{n}" for kind in ("half", "native") for n in LOOSE.split()]
            lines += calls(f"{v} x;", *(f"{n}(x)" for n in names))
            lines += calls(
                f"{v} x;", *(f"{k}_{n}(x, x)" for k in ("half", "native") for n in ("divide", "powr"))
            )
        if width <= 4:
            lines += calls(f"{v} x;", "length(x)", "normalize(x)", "distance(x, x)", "dot(x, x)")
            if t == "float":
                lines += calls(f"{v} x;", "fast_length(x)", "fast_normalize(x)", "fast_distance(x, x)")
        if width in (3, 4):
            lines += calls(f"{v} x;", "cross(x, x)")
    return lines


def integers() -> list[str]:
    lines = []
    for t, width in itertools.product(INTEGERS, (1, *WIDTHS)):
        v = vector(t, width)
        for arity, names in INTEGER.items():
            lines += calls(f"{v} x, y, z;", *(f"{n}({', '.join('xyz'[:arity])})" for n in names.split()))
        other = dict(zip(SIGNED + UNSIGNED, UNSIGNED + SIGNED, strict=True))[t]
        lines += calls(f"{v} x; {vector(other, width)} m;", "select(x, x, x)", "select(x, x, m)")
        lines += calls(f"{v} x; uint n;", "bitfield_insert(x, x, n, n)", "bitfield_extract_signed(x, n, n)")
        if width > 1:
            lines += calls(f"{v} x; {t} s;", "max(x, s)", "min(x, s)", "clamp(x, s, s)")
        if t in SIGNED:
            lines += calls(f"{v} x;", "any(x)", "all(x)")
        if t in ("int", "uint"):
            lines += calls(f"{v} x;", "mul24(x, x)", "mad24(x, x, x)")
        if not t.endswith("long"):
            lines += calls(f"{v} x; {vector(t if t[0] == 'u' else f'u{t}', width)} y;", "upsample(x, y)")
    lines += calls(
        "uchar4 u; char4 c; uint n;",
        "dot(u, u)",
        "dot(c, u)",
        "dot_acc_sat(u, u, n)",
        "dot_4x8packed_su_int(n, n)",
    )
    return lines


def memory() -> list[str]:
    lines = []
    for t, width, space in itertools.product(ALL, WIDTHS, (*SPACES, "constant")):
        lines += calls(f"{space} {t} *p = 0; {vector(t, width)} x = vload{width}(3, p);", *(
            [] if space == "constant" else [f"vstore{width}(x, 3, p)"]
        ))  # fmt: skip
    for space, width in itertools.product(SPACES, ("", *WIDTHS)):
        lines += calls(f"{space} half *p = 0;", f"vload_half{width}(1, p)", f"vloada_half{width}(1, p)")
        for t, mode, a in itertools.product(("float", "double"), MODES, ("", "a")):
            lines += calls(f"{space} half *p = 0; {t}{width} x;", f"vstore{a}_half{width}{mode}(x, 1, p)")
    for t, width in itertools.product(ALL, (1, *WIDTHS)):
        v = vector(t, width)
        pointers = f"event_t e; global {v} *g = 0; local {v} *l = 0;"
        lines += calls(
            pointers,
            "async_work_group_copy(g, l, 1, e)",
            "async_work_group_copy(l, g, 1, e)",
            "prefetch(g, 2)",
        )
        lines += calls(
            pointers,
            "async_work_group_strided_copy(g, l, 1, 2, e)",
            "async_work_group_strided_copy(l, g, 1, 2, e)",
        )
        lines += calls("event_t e;", "wait_group_events(1, &e)")
    for t, n, m in itertools.product(ALL, (2, 4, 8, 16) if FUZZ else (2, 8), (4, 16)):
        mask = MASKS.get(t, t)
        lines += calls(f"{t}{m} x; {mask}{n} k;", "shuffle(x, k)", "shuffle2(x, x, k)")
    return lines


def conversions() -> list[str]:
    lines = []
    for t, source, width, mode in itertools.product(ALL, ALL, ("", *WIDTHS) if FUZZ else ("",), MODES):
        for sat in ("", "_sat") if t in INTEGERS else ("",):
            lines += calls(f"{source}{width} x;", f"convert_{t}{width}{sat}{mode}(x)")
    return lines


def atomics() -> list[str]:
    lines = []
    for t, space in itertools.product(("int", "uint", "long", "ulong"), ("global", "local")):
        for prefix in ("atomic", "atom") if "long" not in t else ("atom",):
            names = ("add", "sub", "xchg", "min", "max", "and", "or", "xor")
            pointer = f"volatile {space} {t} *p = 0; {t} x;"
            lines += calls(pointer, *(f"{prefix}_{n}(p, x)" for n in names), f"{prefix}_cmpxchg(p, x, x)")
            lines += calls(pointer, f"{prefix}_inc(p)", f"{prefix}_dec(p)")
    order, scope = "memory_order_acquire", "memory_scope_device"
    forms = (("", ""), ("_explicit", f", {order}"), ("_explicit", f", {order}, {scope}"))
    for t, space, (suffix, more) in itertools.product(
        ("int", "ulong", "float", "double"), ("global", "local", "generic"), forms
    ):
        pointer = f"volatile {space} atomic_{t} *p = 0; {t} x; {t} e;"
        lines += calls(pointer, f"atomic_store{suffix}(p, x{more})", f"atomic_load{suffix}(p{more})")
        lines += calls(pointer, f"atomic_exchange{suffix}(p, x{more})", "atomic_init(p, x)")
        twice = more.replace(order, f"{order}, {order}") if more else ""
        lines += calls(
            pointer, *(f"atomic_compare_exchange_{s}{suffix}(p, &e, x{twice})" for s in ("weak", "strong"))
        )
        names = ("add", "sub", "min", "max", "or", "xor", "and") if t in INTEGERS else ("add", "min", "max")
        lines += calls(pointer, *(f"atomic_fetch_{n}{suffix}(p, x{more})" for n in names))
        flag = f"volatile {space} atomic_flag *p = 0;"
        lines += calls(
            flag, f"atomic_flag_test_and_set{suffix}(p{more})", f"atomic_flag_clear{suffix}(p{more})"
        )
    return lines


def groups() -> list[str]:
    ids = "global_size global_id local_size enqueued_local_size local_id num_groups group_id global_offset"
    lines = calls(
        "",
        *(f"get_{n}(0)" for n in ids.split()),
        "get_work_dim()",
        "get_global_linear_id()",
        "get_local_linear_id()",
    )
    lines += calls(
        "",
        *(f"get_{n}()" for n in ("sub_group_size", "max_sub_group_size", "num_sub_groups", "sub_group_id")),
    )
    lines += calls("", "get_sub_group_local_id()", "get_enqueued_num_sub_groups()")
    lines += calls(
        "",
        "barrier(1)",
        "work_group_barrier(1)",
        "work_group_barrier(1, memory_scope_device)",
        "mem_fence(1)",
    )
    lines += calls(
        "", "sub_group_barrier(1)", "atomic_work_item_fence(1, memory_order_release, memory_scope_device)"
    )
    lines += calls("int x;", *(f"{k}_group_{n}(x)" for k in ("work", "sub") for n in ("any", "all")))
    for t in ("int", "uint", "long", "ulong", "float", "double", "half"):
        for k in ("work", "sub"):
            folds = itertools.product(("reduce", "scan_inclusive", "scan_exclusive"), ("add", "min", "max"))
            lines += calls(
                f"{t} x;", f"{k}_group_broadcast(x, 1)", *(f"{k}_group_{n}_{o}(x)" for n, o in folds)
            )
    return lines


@pytest.mark.parametrize("family", [mathematics, integers, memory, conversions, atomics, groups])
def test_every_builtin_links(family) -> None:
    lines = family()
    options = ("-w", "-D__opencl_c_integer_dot_product_input_4x8bit=1")
    text = linked("kernel void all_of_them() {\n" + "\n".join(lines) + "\n}", options=options)
    left = [s for s in re.findall(r"^declare [^@\n]*@([\w.$]+)\(", text, re.M) if s.startswith("_Z")]
    assert not left
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize("standard", ["CL1.1", "CL1.2", "CL2.0", "CL3.0"])
def test_each_standard(standard: str) -> None:
    """What names of pointers' spaces differ in."""
    text = linked(
        """
        kernel void k(global float4 *a, local float *b, global half *h, global int *n, constant float *c) {
          float4 whole; event_t e = async_work_group_copy(b, c == 0 ? (global float *)a : (global float *)a, 4, 0);
          wait_group_events(1, &e);
          a[0] = fract(a[1], &whole) + fract(a[2], a) + vload4(0, b) + vload_half4(0, h) + vload4(1, c);
          vstore4(a[0], 1, b); vstorea_half4(a[0], 1, h); barrier(CLK_LOCAL_MEM_FENCE);
          n[0] = atomic_add(n + 1, 2) + convert_int_sat_rte(a[0].x) + (int)get_global_id(0);
        }
        """,
        standard,
        ("-w",),
    )
    assert not [s for s in re.findall(r"^declare [^@\n]*@([\w.$]+)\(", text, re.M) if s.startswith("_Z")]
    llvm.parse_assembly(text).verify()


def test_only_what_is_called_is_copied() -> None:
    text = linked("kernel void k(global float *a) { a[0] = rsqrt(a[1]) + a[2]; }")
    defined = re.findall(r"^define [^@\n]*@([\w.$]+)\(", text, re.M)
    assert sorted(defined) == ["_Z5rsqrtf", "__clang_ocl_kern_imp_k", "k"]
    assert link(text) == text


def test_a_program_without_builtins_stays() -> None:
    text = compile_program("kernel void k(global float *a) { a[0] = a[1] + a[2]; }")
    assert link(text) == text.replace("spir_func ", "")


def test_options_choose_other_functions() -> None:
    text = compile_program("kernel void k(global float *a) { a[0] = pow(a[1], a[2]); }")
    assert "@powf" in link(text) and "@powf" not in link(text, LinkOptions(relaxed_math=True))


class MemoryStore:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.reads = 0

    def read(self, key: str) -> str | None:
        self.reads += 1
        return self.texts.get(key)

    def write(self, key: str, text: str) -> None:
        self.texts[key] = text


def test_sources_are_kept_in_a_store() -> None:
    text = compile_program(
        "kernel void k(global int *a) { a[0] = rotate(a[1], a[2]) + (int)get_global_id(0); }"
    )
    first, second = MemoryStore(), MemoryStore()
    once = link(text, store=first)
    assert len(first.texts) == 2
    second.texts = dict(first.texts)
    assert link(text, store=second) == once and second.reads == 2


def test_names_are_read_and_written() -> None:
    long = demangle("_Z25atomic_fetch_add_explicitPU3AS1VU7_Atomicii12memory_order12memory_scope")
    assert long is not None and long.parameters == (
        "PU3AS1VU7_Atomici",
        "i",
        "12memory_order",
        "12memory_scope",
    )
    three = demangle("_Z6remquoDv4_dS_PU3AS1Dv4_i")
    assert three is not None and three.parameters == ("Dv4_d", "Dv4_d", "PU3AS1Dv4_i")
    assert mangle("remquo", ("d", "d", "PU3AS1i")) == "_Z6remquoddPU3AS1i"
    vector3 = parameter_type("Dv3_Dh")
    assert vector3 is not None and (vector3.llvm, vector3.width, vector3.scalar_code) == (
        "<3 x half>",
        3,
        "Dh",
    )
    assert demangle("printf") is None and parameter_type("12memory_order") is None
    assert all(name == name.strip() for names in SECTIONS.values() for name in names)
