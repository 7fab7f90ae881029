#define STRETCH 1024
#define THREADS (STRETCH / 2)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void sort_stretches(__global float *restrict values, int size)
{
    __local float shared[STRETCH];
    int t = get_local_id(0), start = get_group_id(0) * STRETCH;
    shared[t] = values[start + t];
    shared[t + THREADS] = values[start + t + THREADS];
    for (int length = 2; length <= STRETCH; length *= 2)
        for (int distance = length / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int low = 2 * t - (t & (distance - 1)), high = low + distance;
            int ascending = (low & length) == 0;
            float a = shared[low], b = shared[high];
            if ((a > b) == ascending) {
                shared[low] = b;
                shared[high] = a;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    values[start + t] = shared[t];
    values[start + t + THREADS] = shared[t + THREADS];
}
