#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void tiled_product(__global const float *restrict a, int rows, int inner, __global const float *restrict b,
                   int inner_too, int columns, __global float *restrict c, int c_rows, int c_columns)
{
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float total = 0;
    for (int start = 0; start < inner; start += TILE) {
        tile_a[ty][tx] = row < rows && start + tx < inner ? a[row * inner + start + tx] : 0;
        tile_b[ty][tx] = start + ty < inner && column < columns ? b[(start + ty) * columns + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            total += tile_a[ty][k] * tile_b[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < rows && column < columns)
        c[row * columns + column] = total;
}
