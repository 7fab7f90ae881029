#define THREADS 256

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void scan_groups(__global const long *restrict values, int size, __global long *restrict result, int result_size,
                 __global long *restrict sums, int groups)
{
    __local long shared[THREADS];
    int t = get_local_id(0), i = get_global_id(0);
    shared[t] = i < size ? values[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < THREADS; distance *= 2) {
        long before = t >= distance ? shared[t - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[t] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < size)
        result[i] = shared[t];
    if (t == THREADS - 1)
        sums[get_group_id(0)] = shared[t];
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void add_group_offsets(__global long *restrict result, int size, __global const long *restrict offsets, int groups)
{
    int i = get_global_id(0), group = get_group_id(0);
    if (i < size && group > 0)
        result[i] += offsets[group - 1];
}
