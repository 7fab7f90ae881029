import pytest

from weft.machine.targets import AVX2, AVX512, NEON, SCALAR, SSE2
from weft.machine.vecmath import LIBMVEC, LIBRARIES, SLEEF, SVML, function_in, math_function


@pytest.mark.parametrize(
    ("library", "name", "bits", "lanes", "isa", "symbol"),
    [
        (LIBMVEC, "exp", 32, 16, AVX512, "_ZGVeN16v_expf"),
        (LIBMVEC, "exp", 32, 8, AVX512, "_ZGVdN8v_expf"),
        (LIBMVEC, "pow", 64, 4, AVX2, "_ZGVdN4vv_pow"),
        (LIBMVEC, "sin", 64, 2, SSE2, "_ZGVbN2v_sin"),
        (LIBMVEC, "sin", 32, 4, NEON, "_ZGVnN4v_sinf"),
        (SVML, "atan2", 64, 8, AVX512, "__svml_atan28"),
        (SVML, "exp2", 32, 4, AVX2, "__svml_exp2f4"),
        (SLEEF, "log", 32, 8, AVX2, "Sleef_logf8_u10avx2"),
        (SLEEF, "log", 64, 2, AVX512, "Sleef_logd2_u10avx2128"),
        (SLEEF, "erfc", 32, 16, AVX512, "Sleef_erfcf16_u15avx512f"),
        (SLEEF, "hypot", 64, 2, NEON, "Sleef_hypotd2_u05advsimd"),
        (SLEEF, "fmod", 64, 2, SSE2, "Sleef_fmodd2_sse2"),
    ],
)
def test_symbol_follows_the_librarys_naming(library, name, bits, lanes, isa, symbol) -> None:
    function = function_in(library, name, bits, lanes, isa)
    assert function is not None
    assert function.symbol == symbol


@pytest.mark.parametrize(
    ("name", "bits", "lanes", "isa"),
    [
        ("exp", 32, 16, AVX2),
        ("exp", 32, 32, AVX512),
        ("exp", 32, 2, AVX512),
        ("exp", 16, 32, AVX512),
        ("gamma", 32, 16, AVX512),
        ("exp", 64, 1, SCALAR),
    ],
    ids=["wider than the ISA", "two registers", "half a register", "half precision", "unknown", "scalar"],
)
def test_no_library_has_what_does_not_exist(name, bits, lanes, isa) -> None:
    assert all(function_in(library, name, bits, lanes, isa) is None for library in LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
def test_every_function_exists_for_each_full_register_of_the_level(library, isa) -> None:
    for name in library.functions:
        for bits in (32, 64):
            function = function_in(library, name, bits, isa.lanes(bits), isa)
            assert function is not None, name


@pytest.mark.parametrize(
    ("callee", "function"),
    [
        ("exp", ("exp", 64)),
        ("expf", ("exp", 32)),
        ("erf", ("erf", 64)),
        ("erff", ("erf", 32)),
        ("llvm.pow.f32", ("pow", 32)),
        ("llvm.exp10.f64", ("exp10", 64)),
        ("llvm.exp.v4f32", None),
        ("llvm.sqrt.f32", None),
        ("f", None),
        ("expl", None),
    ],
)
def test_scalar_callee_names_its_function(callee, function) -> None:
    assert math_function(callee) == function
