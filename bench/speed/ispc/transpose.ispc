#define TILE 64

export void transpose(uniform const float matrix[], uniform int64 rows, uniform int64 columns, uniform float result[],
                      uniform int64 result_rows, uniform int64 result_columns)
{
    uniform int32 height = (uniform int32)rows, width = (uniform int32)columns;
    for (uniform int32 top = 0; top < height; top += TILE)
        for (uniform int32 left = 0; left < width; left += TILE)
            for (uniform int32 x = left; x < min(left + TILE, width); x++)
                foreach (y = top ... min(top + TILE, height))
                    result[x * height + y] = matrix[y * width + x];
}
