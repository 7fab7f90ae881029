#define SIDE 8

__constant float basis[SIDE][SIDE] =
#include "dct_basis.h"

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void dct_of_block(__global const float *restrict image, int rows, int columns, __global float *restrict result,
                  int result_rows, int result_columns)
{
    __local float block[SIDE][SIDE], half_done[SIDE][SIDE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int place = get_global_id(1) * columns + get_global_id(0);
    block[ty][tx] = image[place];
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0;
    for (int k = 0; k < SIDE; k++)
        total += block[ty][k] * basis[tx][k];
    half_done[ty][tx] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    total = 0;
    for (int k = 0; k < SIDE; k++)
        total += basis[ty][k] * half_done[k][tx];
    result[place] = total;
}
