// The cosine transform of blocks of SIDE x SIDE pixels: the basis times the block times the basis turned.
kernel void dct(global const float *image, global float *result, global const float *basis, local float *half_done,
                int width) {
  const int x = get_global_id(0), y = get_global_id(1), i = get_local_id(0), j = get_local_id(1);
  const int corner = get_group_id(1) * SIDE * width + get_group_id(0) * SIDE;
  float sum = 0;
  for (int k = 0; k < SIDE; k++)
    sum += image[corner + j * width + k] * basis[i * SIDE + k];
  half_done[j * SIDE + i] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (int k = 0; k < SIDE; k++)
    sum += basis[j * SIDE + k] * half_done[k * SIDE + i];
  result[y * width + x] = sum;
}
