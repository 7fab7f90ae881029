"""What the builtin library leaves undefined: the primitives, which adoption lowers to weft's intrinsics.

The library (`weft.frontend.opencl.library`) is OpenCL C. It declares a primitive under its plain name as a C function
(``__attribute__((overloadable))`` would mangle it; leave that away) and may call these and nothing else:

=====================================================  =============================================================
``size_t __weft_get_global_id(uint d)``                and ``_local_id _group_id _global_size _local_size
                                                       _enqueued_local_size _num_groups _global_offset``; `d` is 0, 1
                                                       or 2 (any other gives 0 for ids and offsets, 1 for sizes)
``uint __weft_work_dim(void)``                         as the launch gave it
``void __weft_barrier(uint flags, uint scope)``        all unfinished work-items of the work-group meet
``void __weft_mem_fence(uint flags)``                  orders memory of this work-item (sequentially consistent)
``int __weft_work_group_any(int)``, ``_all``           with a barrier; 0 or 1
``local void *__weft_scratch(void)``                   16 KiB of local memory, 128-byte aligned, of the work-group; the
                                                       same at each call (work-group reductions, scans, broadcasts)
``uint __weft_sub_group_local_id(void)``               position in the sub-group
``uint __weft_sub_group_max_size(void)``               work-items of a whole sub-group: a constant of the compilation
``int __weft_sub_group_shuffle_i32(int, uint lane)``   the value of a lane, the own one where that lane does not run;
                                                       ``long __weft_sub_group_shuffle_i64(long, uint)`` likewise
``ulong __weft_sub_group_ballot(int)``                 bit l: whether work-item l runs and its value is not 0
``ulong __weft_sub_group_active(void)``                bit l: whether work-item l runs
``void __weft_sub_group_barrier(uint flags, uint scope)``  the sub-group meets
``int __weft_is_local(const generic void *)``          whether a pointer leads into the work-group's local memory
``int __weft_is_private(const generic void *)``        whether it leads into the work-item's stack
``int printf(constant char *, ...)``                   declared by ``base.h``; stays as it is
=====================================================  =============================================================

Beside them: LLVM's intrinsics and atomic instructions that clang makes of its builtins (``__builtin_elementwise_*``,
``__opencl_atomic_*``, ``__builtin_convertvector``), and functions of the C library by their C names that
`weft.ir.known_functions` lists (``sinf``, ``pow``).
"""

from __future__ import annotations

PREFIX = "__weft_"

SCRATCH_BYTES = 1 << 14
"""Local memory that ``__weft_scratch`` gives."""

SUB_GROUP_SIZE = 32
"""Work-items of a sub-group where a kernel does not ask for another number (``intel_reqd_sub_group_size``)."""
