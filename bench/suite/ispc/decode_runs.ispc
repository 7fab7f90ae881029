export void decode_runs(uniform const unsigned int8 values[], uniform int64 count, uniform const int32 starts[],
                        uniform int64 starts_size, uniform unsigned int8 result[], uniform int64 size)
{
    for (uniform int64 i = 0; i < count; i++) {
        uniform unsigned int8 value = values[i];
        foreach (k = starts[i] ... starts[i + 1])
            result[k] = value;
    }
}
