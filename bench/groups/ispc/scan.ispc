export void scan(uniform const int64 values[], uniform int64 size, uniform int64 result[], uniform int64 result_size)
{
    uniform int64 sum = 0;
    for (uniform int64 i = 0; i < size; i++) {
        sum += values[i];
        result[i] = sum;
    }
}
