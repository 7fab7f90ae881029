"""Extensions and optional features of OpenCL C that programs can use: what clang is told, and the driver tells."""

from __future__ import annotations

EXTENSIONS = (
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_fp64",
    "cl_khr_fp16",
    "cl_khr_subgroups",
    "cl_khr_3d_image_writes",
    "cl_khr_depth_images",
)
"""Extensions by name; `cl_khr_icd` and its like, which are the driver's, are not among them."""

DEVICE_EXTENSIONS = tuple(name for name in EXTENSIONS if name != "cl_khr_subgroups")
"""Those that the driver's device tells of. `cl_khr_subgroups` would promise that the sub-groups of a work-group run
independently; they run in turn, as the feature `__opencl_c_subgroups` allows."""

FEATURES = (
    "__opencl_c_3d_image_writes",
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_images",
    "__opencl_c_int64",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
)
"""Features of OpenCL C 3.0 by the macros that say that they are there (§6.2.1)."""

MAX_GROUP = 1024
"""Work-items of the largest work-group."""

LOCAL_MEMORY_BYTES = 1 << 18
"""Local memory of a work-group: what of a core's second-level cache one may take."""
