import re
import time

import pytest

from weft.diag.errors import CompileError
from weft.machine.targets import AVX2, AVX512, ISAS, NEON, SSE4
from weft.target.machine import TargetSpec, emit_assembly, emit_object, target_machine
from weft.target.passes import FINAL

ADD_16 = """
define void @k(ptr %p) "min-legal-vector-width"="0" "target-cpu"="x86-64" "target-features"="+sse2" {
  %v = load <16 x float>, ptr %p, align 4
  %w = fadd <16 x float> %v, %v
  store <16 x float> %w, ptr %p, align 4
  ret void
}
"""


@pytest.mark.parametrize(
    ("isa", "register", "count"), [(AVX512, "zmm", 1), (AVX2, "ymm", 2), (SSE4, "xmm", 4), (NEON, "4s", 4)]
)
def test_level_decides_registers_whatever_the_function_says(isa, register, count):
    assembly = emit_assembly(ADD_16, TargetSpec.of_isa(isa))
    additions = [line for line in assembly.splitlines() if re.search(r"\sv?f?add(ps)?\s", line)]
    assert len(additions) == count
    assert all(register in line for line in additions)


def test_512_bit_vectors_stay_whole_on_processors_tuned_for_256():
    for cpu in ("skylake-avx512", "sapphirerapids", "znver5"):
        assert "zmm" in emit_assembly(ADD_16, TargetSpec("x86_64-unknown-linux-gnu", cpu))


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_object_files_for_every_level_are_elf(isa):
    assert emit_object(ADD_16, TargetSpec.of_isa(isa), FINAL).startswith(b"\x7fELF")


def test_nvptx_gives_ptx():
    kernel = "define ptx_kernel void @k(ptr %p) { store float 1.0, ptr %p\n ret void }"
    ptx = emit_assembly(kernel, TargetSpec("nvptx64-nvidia-cuda", "sm_80"))
    assert ".visible .entry k(" in ptx
    assert ".target sm_80" in ptx


def test_inline_assembly_of_the_host_is_assembled():
    text = 'define void @k() { call void asm sideeffect "nop", ""()\n ret void }'
    assert emit_object(text, TargetSpec.chosen())


def test_target_machines_are_made_once_for_a_spec():
    assert target_machine(TargetSpec.of_isa(AVX2)) is target_machine(TargetSpec.of_isa(AVX2))
    assert target_machine(TargetSpec.of_isa(AVX2)) is not target_machine(TargetSpec.of_isa(AVX2, level=0))


def test_the_code_generator_of_aarch64_is_the_one_that_knows_vectors_of_pointers():
    text = """
    define void @k(ptr %o, <4 x ptr> %p, ptr %q) {
      %all = insertelement <4 x ptr> %p, ptr %q, i64 1
      store <4 x ptr> %all, ptr %o
      ret void
    }
    """
    assert emit_assembly(text, TargetSpec.of_isa(NEON, 0)) == emit_assembly(text, TargetSpec.of_isa(NEON, 1))


def test_unknown_target_is_a_compile_error():
    with pytest.raises(CompileError, match="vax"):
        TargetSpec("vax-dec-vms").machine


def test_same_module_gives_same_bytes_and_key_tells_targets_apart():
    avx512, avx2 = TargetSpec.of_isa(AVX512), TargetSpec.of_isa(AVX2)
    assert emit_object(ADD_16, avx512, FINAL) == emit_object(ADD_16, avx512, FINAL)
    assert len({spec.key for spec in (avx512, avx2, TargetSpec.of_isa(AVX2, level=1))}) == 3


def test_indices_of_many_choices_are_soon_machine_code():
    """LLVM took minutes for these, cubes of their number and more: it is held to shorter sums."""
    many = 150
    asked = "".join(f"  %c{k} = icmp sgt i64 %m, {k}\n" for k in range(many))
    chosen = "".join(
        f"  %a{k} = add i64 %t{k}, {k}\n  %b{k} = add i64 %t{k}, %n\n"
        f"  %t{k + 1} = select i1 %c{k}, i64 %a{k}, i64 %b{k}\n"
        for k in range(many)
    )
    text = f"""
define void @f(ptr %x, ptr %y, i64 %n, i64 %m) {{
entry:
{asked}  br label %loop
loop:
  %t0 = phi i64 [ 0, %entry ], [ %next, %loop ]
{chosen}  %from = getelementptr i64, ptr %x, i64 %t{many}
  %v = load i64, ptr %from
  %to = getelementptr i64, ptr %y, i64 %t0
  store i64 %v, ptr %to
  %next = add nuw nsw i64 %t0, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}}
"""
    begin = time.process_time()
    assert emit_assembly(text, TargetSpec.of_isa(SSE4), FINAL).count("cmov") >= many
    assert time.process_time() - begin < 5
