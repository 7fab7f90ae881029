// Nests with affine accesses: each is run on the interpreter, and the lines that its warps touch are counted.
void add(int n, int m, int *a, int *b, int *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      c[i * m + j] = a[i * m + j] + b[j * n + i];
}
void offsets(int n, int m, int *a, int *b, int *c) {
  for (int i = 1; i < n; i++)
    for (int j = 0; j < m; j++)
      c[i * m + j] = a[i * m + j + 1] + b[3 * j + 2] + a[(i - 1) * m + m - 1 - j];
}
void bytes(int n, int m, char *a, short *b, char *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      c[3 * (i * m + j) + 1] = (char)(a[3 * (i * m + j) + 2] + b[i * m + 5 * j]);
}
void inner(int n, int m, int *a, int *b, int *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int s = 0;
      for (int k = 0; k < 5; k++)
        s += a[i * 5 + k] * b[k * m + j];
      c[i * m + j] = s;
    }
}
void strided(int n, int m, int *a, int *b, int *c) {
  for (int i = 0; i < n; i += 3)
    for (int j = m - 1; j >= 0; j -= 2)
      c[i * m + j] = a[2 * i] + b[40 * j + i];
}
void triangle(int n, int m, int *a, int *b, int *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      c[i * n + j] = a[j] + b[i];
}
void doubles(int n, int m, double *a, double *b, double *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      c[j * n + i] = a[i * m + j] + b[17 * j];
}
// No address of a wide access is a multiple of its size.
typedef double loose __attribute__((aligned(1)));
void crossing(int n, int m, char *a, char *b, char *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      *(loose *)(c + 133 * (i * m + j) + 1) = *(loose *)(a + 7 * j + 3);
}
