// One stage of a Walsh-Hadamard transform: sums and differences at a distance.
kernel void walsh_stage(global float *values, int distance) {
  const int t = get_global_id(0);
  const int low = 2 * t - t % distance, high = low + distance;
  const float a = values[low], b = values[high];
  values[low] = a + b;
  values[high] = a - b;
}
