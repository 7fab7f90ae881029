import os
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from weft.machine import host as host_module
from weft.machine.cores import core_of
from weft.machine.targets import AVX2, AVX512, ISAS, NEON, SCALAR, SSE2, SSE4, best_isa, isa_named


def test_each_level_is_chosen_from_just_its_features() -> None:
    for isa in ISAS:
        assert best_isa(isa.arch, isa.features) is isa


def test_one_missing_feature_means_the_level_below() -> None:
    assert best_isa("x86_64", AVX512.features - {"avx512dq"}) is AVX2
    assert best_isa("x86_64", AVX2.features - {"fma"}) is SSE4
    assert best_isa("x86_64", frozenset({"sse", "sse2"})) is SSE2


def test_other_architectures_are_scalar_whatever_their_features_are_called() -> None:
    assert best_isa("riscv64", AVX512.features) is SCALAR
    assert best_isa("aarch64", {"neon", "sve"}) is NEON
    # An emulator's list of features is empty.
    assert best_isa("aarch64", frozenset()) is NEON and best_isa("x86_64", frozenset()) is SSE2


def test_lanes_fill_a_register_and_are_never_none() -> None:
    assert [AVX512.lanes(bits) for bits in (8, 32, 64)] == [64, 16, 8]
    assert SCALAR.lanes(128) == 1


@pytest.mark.parametrize("isa", [isa for isa in ISAS if isa.arch == "x86_64"], ids=lambda isa: isa.name)
def test_llvm_knows_the_processor_and_the_features_of_each_level(isa, capfd) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = f"{isa.arch}-unknown-linux-gnu"
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=isa.cpu, features=isa.feature_string)
    text = f'target triple = "{triple}"\ndefine void @f() {{ ret void }}'
    assert "ret" in machine.emit_assembly(llvm.parse_assembly(text))
    assert "not a recognized" not in capfd.readouterr().err


def test_level_is_found_by_name_and_unknown_names_are_refused() -> None:
    assert all(isa_named(isa.name) is isa for isa in (*ISAS, SCALAR))
    with pytest.raises(KeyError):
        isa_named("avx1024")


def test_host_has_all_features_of_its_level() -> None:
    machine = host_module.host()
    assert machine.isa.features <= machine.features
    assert machine.cpu == llvm.get_host_cpu_name()


def test_importing_the_room_does_not_load_llvm() -> None:
    code = "import sys, weft.machine.host, weft.machine.vecmath_load; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity masks")
def test_core_count_follows_the_affinity_mask() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert host_module.core_count() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert host_module.core_count() == len(before)


def test_a_core_is_known_by_its_name_and_a_level_names_none() -> None:
    named = best_isa("x86_64", AVX512.features, "znver4")
    assert named.name == AVX512.name and named.core != AVX512.core
    assert best_isa("x86_64", AVX512.features, AVX512.cpu) is AVX512
    assert core_of("znver5").reads_rows_steadily and core_of("znver5") != core_of("znver4")
