/* What the code that is made for a library shares: launches of kernels, the pool of functions, levels. */

#ifndef WEFT_AOT_H
#define WEFT_AOT_H

#include "host.h"

/* Of some levels, in ascending order, the best that this processor has; it ends the process where it has none. */
int weft_aot_choose(const int *levels, int count);

/* How groups are handed out (weft.codegen.order.run_unit); `size` is -1 where it is any. */
struct run_unit {
    int64_t width, dimension, size, rows, across;
};

/* Launches a kernel: 0, 1 where threads wait at different barriers, 2 where there is no memory, 3 where a size is none. */
int weft_aot_launch(
    const struct code *code, const struct run_unit *unit, const int64_t *grid, const int64_t *block, int64_t dynamic,
    int64_t *slots);

/* A copy in C order of an array that a function has left; `strides` is null where it has that order. */
void *weft_aot_array(const void *data, const int64_t *shape, const int64_t *strides, int ndim, size_t size);

/* Frees what a function has handed over (weft.ir.heap). */
void weft_aot_release(void *block);

/* Makes the pool ready for functions with parallel loops. */
void weft_aot_prepare(void);

#endif
