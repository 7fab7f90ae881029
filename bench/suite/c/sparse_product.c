#include <stdint.h>

void sparse_product(const int32_t *restrict starts, int64_t starts_size, const int32_t *restrict columns,
                    int64_t columns_size, const double *restrict values, int64_t values_size,
                    const double *restrict x, int64_t x_size, double *restrict y, int64_t rows)
{
    PARALLEL_FOR
    for (int64_t row = 0; row < rows; row++) {
        double total = 0;
        for (int32_t k = starts[row]; k < starts[row + 1]; k++)
            total += values[k] * x[columns[k]];
        y[row] = total;
    }
}
