// A matrix turned through a tile in local memory, so that rows are read and written whole.
kernel void transpose(global const float *matrix, global float *turned, local float *tile, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1), i = get_local_id(0), j = get_local_id(1);
  tile[j * (SIDE + 1) + i] = matrix[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int column = get_group_id(1) * SIDE + i, row = get_group_id(0) * SIDE + j;
  turned[row * height + column] = tile[i * (SIDE + 1) + j];
}
