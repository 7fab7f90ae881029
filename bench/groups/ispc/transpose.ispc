#define TILE 32

export void transpose(uniform const float source[], uniform int64 rows, uniform int64 columns, uniform float target[],
                      uniform int64 target_rows, uniform int64 target_columns)
{
    uniform int32 height = (uniform int32)rows, width = (uniform int32)columns;
    for (uniform int32 top = 0; top < height; top += TILE)
        for (uniform int32 left = 0; left < width; left += TILE)
            for (uniform int32 x = left; x < min(left + TILE, width); x++)
                foreach (y = top ... min(top + TILE, height))
                    target[x * height + y] = source[y * width + x];
}
