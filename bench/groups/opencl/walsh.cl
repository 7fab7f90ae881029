#define STRETCH 512
#define THREADS (STRETCH / 2)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void narrow_stages(__global float *restrict values, int size)
{
    __local float shared[STRETCH];
    int t = get_local_id(0), start = get_group_id(0) * STRETCH;
    shared[t] = values[start + t];
    shared[t + THREADS] = values[start + t + THREADS];
    for (int distance = 1; distance < STRETCH; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int low = 2 * t - (t & (distance - 1));
        float a = shared[low], b = shared[low + distance];
        shared[low] = a + b;
        shared[low + distance] = a - b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    values[start + t] = shared[t];
    values[start + t + THREADS] = shared[t + THREADS];
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void wide_stage(__global float *restrict values, int size, int distance)
{
    int t = get_global_id(0);
    if (t < size / 2) {
        int low = 2 * t - (t & (distance - 1));
        float a = values[low], b = values[low + distance];
        values[low] = a + b;
        values[low + distance] = a - b;
    }
}
