export void mandelbrot(uniform float left, uniform float top, uniform float step, uniform int64 limit,
                       uniform int32 counts[], uniform int64 height, uniform int64 width)
{
    uniform int32 most = (uniform int32)limit, columns = (uniform int32)width;
    for (uniform int64 y = 0; y < height; y++) {
        uniform float imag = top - (uniform float)y * step;
        foreach (x = 0 ... columns) {
            float real = left + (float)x * step;
            float zr = 0, zi = 0;
            int32 n = 0;
            while (n < most && zr * zr + zi * zi <= 4) {
                float next = zr * zr - zi * zi + real;
                zi = (zr + zr) * zi + imag;
                zr = next;
                n++;
            }
            counts[y * width + x] = n;
        }
    }
}
