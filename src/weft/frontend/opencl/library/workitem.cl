/* Work-item functions (OpenCL C 1.2, 6.12.1; 3.0, 6.15.1) over those of weft. */

uint __weft_get_work_dim(void) EXTERN("__weft_work_dim");
uint PURE get_work_dim(void) { return __weft_get_work_dim(); }

#define OF_DIMENSION(NAME)                                                                                             \
  size_t __weft_##NAME(uint dimension) EXTERN("__weft_" #NAME);                                                        \
  size_t BUILTIN NAME(uint dimension) { return __weft_##NAME(dimension); }
OF_DIMENSION(get_global_id)
OF_DIMENSION(get_local_id)
OF_DIMENSION(get_group_id)
OF_DIMENSION(get_global_size)
OF_DIMENSION(get_local_size)
OF_DIMENSION(get_enqueued_local_size)
OF_DIMENSION(get_num_groups)
OF_DIMENSION(get_global_offset)

size_t BUILTIN get_global_linear_id(void) {
  size_t x = get_global_id(0) - get_global_offset(0);
  size_t y = get_global_id(1) - get_global_offset(1);
  size_t z = get_global_id(2) - get_global_offset(2);
  return (z * get_global_size(1) + y) * get_global_size(0) + x;
}

size_t BUILTIN get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}

/* Sub-groups are of consecutive linear local ids. */
uint __weft_sub_group_local_id(void) EXTERN("__weft_sub_group_local_id");
uint __weft_sub_group_max_size(void) EXTERN("__weft_sub_group_max_size");

static uint __attribute__((always_inline)) local_items(void) {
  return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}
static uint __attribute__((always_inline)) pieces(uint items) {
  return (items + __weft_sub_group_max_size() - 1) / __weft_sub_group_max_size();
}

uint BUILTIN get_max_sub_group_size(void) { return __weft_sub_group_max_size(); }
uint BUILTIN get_sub_group_local_id(void) { return __weft_sub_group_local_id(); }
uint BUILTIN get_sub_group_id(void) { return (uint)get_local_linear_id() / __weft_sub_group_max_size(); }
uint BUILTIN get_num_sub_groups(void) { return pieces(local_items()); }
uint BUILTIN get_enqueued_num_sub_groups(void) {
  return pieces(
      (uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2)));
}
uint BUILTIN get_sub_group_size(void) {
  uint rest = local_items() - get_sub_group_id() * __weft_sub_group_max_size();
  return rest < __weft_sub_group_max_size() ? rest : __weft_sub_group_max_size();
}
