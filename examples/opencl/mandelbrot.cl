// Steps until a point of the plane leaves the circle of radius two.
kernel void mandelbrot(global int *steps, float scale, int most, int width) {
  const int place = get_global_id(0), column = place % width, row = place / width;
  const float x0 = column * scale - 0.5f * scale * width - 0.5f, y0 = row * scale - 0.5f * scale * width;
  float x = x0, y = y0;
  int k = 0;
  while (k < most && x * x + y * y <= 4.0f) {
    const float next = x * x - y * y + x0;
    y = 2.0f * x * y + y0;
    x = next;
    k++;
  }
  steps[place] = k;
}
