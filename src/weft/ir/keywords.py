"""The words of LLVM 22 text that stand around globals, functions and parameters."""

from __future__ import annotations

LINKAGES = frozenset(
    (
        "private", "internal", "available_externally", "linkonce", "weak", "common", "appending",
        "extern_weak", "linkonce_odr", "weak_odr", "external",
    )
)  # fmt: skip

PREEMPTIONS = frozenset(("dso_local", "dso_preemptable"))

VISIBILITIES = frozenset(("default", "hidden", "protected"))

DLL_STORAGE = frozenset(("dllimport", "dllexport"))

UNNAMED_ADDR = frozenset(("unnamed_addr", "local_unnamed_addr"))

CALLING_CONVENTIONS = frozenset(
    (
        "fastcc", "coldcc", "ghccc", "anyregcc", "preserve_mostcc", "preserve_allcc", "preserve_nonecc",
        "swiftcc", "swifttailcc", "cxx_fast_tlscc", "tailcc", "ccc", "cfguard_checkcc", "x86_stdcallcc",
        "x86_fastcallcc", "x86_thiscallcc", "x86_vectorcallcc", "x86_regcallcc", "x86_intrcc",
        "x86_64_sysvcc", "win64cc", "intel_ocl_bicc", "hhvmcc", "hhvm_ccc", "arm_apcscc", "arm_aapcscc",
        "arm_aapcs_vfpcc", "aarch64_vector_pcs", "aarch64_sve_vector_pcs",
        "aarch64_sme_preservemost_from_x0", "aarch64_sme_preservemost_from_x1",
        "aarch64_sme_preservemost_from_x2", "msp430_intrcc", "avr_intrcc", "avr_signalcc", "m68k_rtdcc",
        "riscv_vector_cc", "riscv_vls_cc", "ptx_kernel", "ptx_device", "spir_func", "spir_kernel",
        "amdgpu_kernel", "amdgpu_vs", "amdgpu_gs", "amdgpu_ps", "amdgpu_cs", "amdgpu_hs", "amdgpu_ls",
        "amdgpu_es", "amdgpu_gfx", "amdgpu_gfx_whole_wave", "amdgpu_cs_chain", "amdgpu_cs_chain_preserve",
        "graalcc", "cheriot_compartmentcallcc", "cheriot_compartmentcalleecc", "cheriot_librarycallcc",
    )
)  # fmt: skip

ORDERINGS = frozenset(("unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"))

PARAMETER_ATTRIBUTES = frozenset(
    (
        "zeroext", "signext", "noext", "inreg", "byval", "byref", "preallocated", "inalloca", "sret",
        "elementtype", "align", "noalias", "captures", "nocapture", "nofree", "nest", "returned", "nonnull",
        "dereferenceable", "dereferenceable_or_null", "swiftself", "swiftasync", "swifterror", "immarg",
        "noundef", "nofpclass", "alignstack", "allocalign", "allocptr", "readnone", "readonly", "writeonly",
        "writable", "initializes", "dead_on_unwind", "dead_on_return", "range",
    )
)  # fmt: skip

FUNCTION_ATTRIBUTES = frozenset(
    (
        "alignstack", "allockind", "allocsize", "alwaysinline", "builtin", "cold", "convergent",
        "coro_elide_safe", "coro_only_destroy_when_complete", "denormal_fpenv",
        "disable_sanitizer_instrumentation", "fn_ret_thunk_extern", "hot", "hybrid_patchable", "inlinehint",
        "jumptable", "memory", "minsize", "mustprogress", "naked", "nobuiltin", "nocallback", "nocf_check",
        "nocreateundeforpoison", "nodivergencesource", "noduplicate", "nofree", "noimplicitfloat",
        "noinline", "nomerge", "nonlazybind", "noprofile", "norecurse", "noredzone", "noreturn",
        "nosanitize_bounds", "nosanitize_coverage", "nosync", "nounwind", "null_pointer_is_valid",
        "optdebug", "optforfuzzing", "optnone", "optsize", "presplitcoroutine", "returns_twice",
        "safestack", "sanitize_address", "sanitize_alloc_token", "sanitize_hwaddress", "sanitize_memory",
        "sanitize_memtag", "sanitize_numerical_stability", "sanitize_realtime",
        "sanitize_realtime_blocking", "sanitize_thread", "sanitize_type", "shadowcallstack", "skipprofile",
        "speculatable", "speculative_load_hardening", "ssp", "sspreq", "sspstrong", "strictfp", "uwtable",
        "vscale_range", "willreturn",
    )
)  # fmt: skip

GROUP_ATTRIBUTES = FUNCTION_ATTRIBUTES | {"align"}

BARE_ATTRIBUTES = frozenset(("align",))
"""Attributes whose number follows without parentheses."""
