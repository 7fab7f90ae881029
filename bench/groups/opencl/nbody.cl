#define THREADS 256
#define SOFTENING 0.01f

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void accelerations(__global const float4 *restrict bodies, int count, int four, __global float *restrict result,
                   int result_count, int three)
{
    __local float4 tile[THREADS];
    int t = get_local_id(0), i = get_global_id(0);
    float4 own = bodies[min(i, count - 1)];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < count; start += THREADS) {
        tile[t] = start + t < count ? bodies[start + t] : (float4)(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < THREADS; k++) {
            float4 other = tile[k];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
            float pull = other.w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < count) {
        result[3 * i] = ax;
        result[3 * i + 1] = ay;
        result[3 * i + 2] = az;
    }
}
