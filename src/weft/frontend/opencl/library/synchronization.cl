/* Barriers and fences (OpenCL C 1.2, 6.12.8 and 6.12.9; 3.0, 6.15.8 and 6.15.9). */

void __weft_barrier(uint flags, uint scope) __attribute__((convergent)) EXTERN("__weft_barrier");
void __weft_sub_group_barrier(uint flags, uint scope) __attribute__((convergent)) EXTERN("__weft_sub_group_barrier");

#define MEETING BUILTIN __attribute__((convergent))

void MEETING barrier(cl_mem_fence_flags flags) { __weft_barrier(flags, memory_scope_work_group); }
void MEETING work_group_barrier(cl_mem_fence_flags flags) { __weft_barrier(flags, memory_scope_work_group); }
void MEETING work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) { __weft_barrier(flags, scope); }
void MEETING sub_group_barrier(cl_mem_fence_flags flags) { __weft_sub_group_barrier(flags, memory_scope_sub_group); }
void MEETING sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  __weft_sub_group_barrier(flags, scope);
}

void __weft_mem_fence(uint flags) EXTERN("__weft_mem_fence");

void BUILTIN mem_fence(cl_mem_fence_flags flags) { __weft_mem_fence(flags); }
void BUILTIN read_mem_fence(cl_mem_fence_flags flags) { __weft_mem_fence(flags); }
void BUILTIN write_mem_fence(cl_mem_fence_flags flags) { __weft_mem_fence(flags); }
void BUILTIN atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) {
  if (order != memory_order_relaxed)
    __weft_mem_fence(flags);
}
