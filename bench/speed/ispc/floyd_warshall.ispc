export void floyd_warshall(uniform float distances[], uniform int64 count, uniform int64 columns)
{
    uniform int32 vertices = (uniform int32)count;
    for (uniform int32 k = 0; k < vertices; k++) {
        uniform const float *uniform by_way = distances + k * vertices;
        for (uniform int32 i = 0; i < vertices; i++) {
            uniform float *uniform line = distances + i * vertices;
            uniform float first = line[k];
            foreach (j = 0 ... vertices)
                line[j] = min(line[j], first + by_way[j]);
        }
    }
}
