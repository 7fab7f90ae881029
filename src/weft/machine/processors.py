"""Processors by LLVM's names, beside the host and the levels: which features LLVM makes code for them with.

llvmlite does not say what features LLVM takes a processor to have, but LLVM does: a call is inlined only if the caller
has all features of the callee. So the processor's code calls one function for each feature, and it is seen which
calls are gone.
"""

from __future__ import annotations

import functools

from weft.machine.llvm_contexts import parsed_alone
from weft.machine.targets import Machine, best_isa

_X86_64 = frozenset(
    (
        "alderlake", "amdfam10", "arrowlake", "arrowlake-s", "athlon64", "athlon64-sse3", "atom",
        "barcelona", "bdver1", "bdver2", "bdver3", "bdver4", "bonnell", "broadwell", "btver1", "btver2",
        "cannonlake", "cascadelake", "clearwaterforest", "cooperlake", "core-avx-i", "core-avx2", "core2",
        "corei7", "corei7-avx", "diamondrapids", "emeraldrapids", "goldmont", "goldmont-plus", "gracemont",
        "grandridge", "graniterapids", "graniterapids-d", "haswell", "icelake-client", "icelake-server",
        "ivybridge", "k8", "k8-sse3", "knl", "knm", "lunarlake", "meteorlake", "nehalem", "nocona",
        "novalake", "opteron", "opteron-sse3", "pantherlake", "penryn", "raptorlake", "rocketlake",
        "sandybridge", "sapphirerapids", "sierraforest", "silvermont", "skylake", "skylake-avx512",
        "tigerlake", "tremont", "westmere", "wildcatlake", "znver1", "znver2", "znver3", "znver4", "znver5",
    )
)  # fmt: skip
"""LLVM's names of processors of x86-64; one that it does not know would end the process."""

_ONLY_ON_DEMAND = frozenset(
    (
        "adx", "aes", "amx-avx512", "amx-bf16", "amx-complex", "amx-fp16", "amx-fp8", "amx-int8",
        "amx-movrs", "amx-tf32", "amx-tile", "cldemote", "clflushopt", "clwb", "clzero", "cmpccxadd",
        "enqcmd", "fsgsbase", "hreset", "invpcid", "kl", "lwp", "movdir64b", "movdiri", "movrs", "mwaitx",
        "pconfig", "pku", "prefetchi", "prfchw", "ptwrite", "raoint", "rdpid", "rdpru", "rdrnd", "rdseed",
        "rtm", "serialize", "sgx", "sha", "sha512", "shstk", "sm3", "sm4", "tsxldtrk", "uintr", "usermsr",
        "vaes", "waitpkg", "wbnoinvd", "widekl", "xsave", "xsavec", "xsaveopt", "xsaves",
    )
)  # fmt: skip
"""Features that code has only where a program names their instructions: whether the host has them does not matter."""


@functools.cache
def processor(arch: str, name: str) -> Machine | None:
    """Return a processor by LLVM's name, None if it is not known."""
    if arch != "x86_64" or name not in _X86_64:
        return None
    features = _features(name) - _ONLY_ON_DEMAND
    return Machine(arch, name, features, best_isa(arch, features, name))


def _features(cpu: str) -> frozenset[str]:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    known = sorted(llvm.get_host_cpu_features())
    triple = llvm.get_process_triple()
    machine = llvm.Target.from_triple(triple).create_target_machine()
    module = parsed_alone(llvm.parse_assembly, _calls(cpu, known))
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(1))
    builder.getModulePassManager().run(module, builder)
    # Those whose only instructions are a load and a return.
    inlined = {
        f.name
        for f in module.functions
        if not any("call" in str(i) for b in f.blocks for i in b.instructions)
    }
    return frozenset(feature for n, feature in enumerate(known) if f"with{n}" in inlined)


def _calls(cpu: str, features: list[str]) -> str:
    """LLVM text with a function ``with<n>`` of the processor for each feature, which calls one that needs it."""
    lines = ["@place = external global i32"]
    for n, feature in enumerate(features):
        lines += [
            f'define internal i32 @needs{n}() "target-features"="+{feature}" {{',
            "  %value = load volatile i32, ptr @place",
            "  ret i32 %value",
            "}",
            f'define i32 @with{n}() "target-cpu"="{cpu}" {{',
            f"  %value = call i32 @needs{n}()",
            "  ret i32 %value",
            "}",
        ]
    return "\n".join(lines)
