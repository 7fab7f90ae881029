export void sparse_product(uniform const int32 starts[], uniform int64 starts_size, uniform const int32 columns[],
                           uniform int64 columns_size, uniform const double values[], uniform int64 values_size,
                           uniform const double x[], uniform int64 x_size, uniform double y[], uniform int64 rows)
{
    for (uniform int64 row = 0; row < rows; row++) {
        double total = 0;
        foreach (k = starts[row] ... starts[row + 1])
            total += values[k] * x[columns[k]];
        y[row] = reduce_add(total);
    }
}
