#define BINS 256
#define THREADS 256

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void count_bytes(__global const uchar *restrict data, int size, __global int *restrict counts, int bins)
{
    __local int own[BINS];
    int t = get_local_id(0);
    for (int k = t; k < BINS; k += THREADS)
        own[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < size; i += get_global_size(0))
        atomic_inc(&own[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = t; k < BINS; k += THREADS)
        atomic_add(&counts[k], own[k]);
}
