// Counts of bytes: each work-item counts its part in local memory, then bins are summed up over the work-group.
kernel void histogram(global const uchar *data, local uchar *counts, global uint *result, uint part) {
  const size_t l = get_local_id(0), items = get_local_size(0);
  for (int k = 0; k < 256; k++)
    counts[l * 256 + k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < part; k++)
    counts[l * 256 + data[get_group_id(0) * items * part + k * items + l]]++;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint bin = l; bin < 256; bin += items) {
    uint sum = 0;
    for (uint k = 0; k < items; k++)
      sum += counts[k * 256 + bin];
    result[get_group_id(0) * 256 + bin] = sum;
  }
}
