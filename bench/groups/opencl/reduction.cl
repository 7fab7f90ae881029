#define THREADS 256

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void group_sums(__global const float *restrict values, int size, __global float *restrict sums, int groups)
{
    __local float partial[THREADS];
    int t = get_local_id(0);
    float total = 0;
    for (int i = get_global_id(0); i < size; i += get_global_size(0))
        total += values[i];
    partial[t] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = THREADS / 2; width > 0; width /= 2) {
        if (t < width)
            partial[t] += partial[t + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        sums[get_group_id(0)] = partial[0];
}
