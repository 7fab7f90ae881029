// Short vectors of the GNU and Clang extensions.

typedef float v4f __attribute__((ext_vector_type(4)));
typedef float v8f __attribute__((ext_vector_type(8)));
typedef float v3f __attribute__((ext_vector_type(3)));
typedef int v4i __attribute__((ext_vector_type(4)));
typedef unsigned char v16b __attribute__((vector_size(16)));
typedef double v2d __attribute__((ext_vector_type(2)));
typedef long v4l __attribute__((ext_vector_type(4)));
typedef short v8s __attribute__((vector_size(16)));
typedef _Float16 v8h __attribute__((ext_vector_type(8)));
typedef _Bool v8b __attribute__((ext_vector_type(8)));

v4f axpy(v4f a, v4f x, v4f y) { return a * x + y; }

v4f splat_it(float x) { return (v4f){x, x, x, x} * 2.0f; }

float dot4(v4f a, v4f b) {
  v4f p = a * b;
  return p[0] + p[1] + p[2] + p[3];
}

v4i blend(v4i m, v4i a, v4i b) { return (a & m) | (b & ~m); }

v4i less(v4f a, v4f b) { return a < b; }

v4f choose(v4i c, v4f a, v4f b) { return c ? a : b; }

v4f reverse4(v4f a) { return __builtin_shufflevector(a, a, 3, 2, 1, 0); }

v8f widen(v4f a, v4f b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5, 2, 6, 3, 7); }

v4f with_poison(v4f a) { return __builtin_shufflevector(a, a, 0, -1, 2, -1); }

v3f cross(v3f a, v3f b) { return a.yzx * b.zxy - a.zxy * b.yzx; }

v4i to_int(v4f a) { return __builtin_convertvector(a, v4i); }

v2d to_double(v4f a) { return (v2d){a[0], a[1]}; }

v4f insert_at(v4f a, int i, float x) { a[i] = x; return a; }

float extract_at(v4f a, int i) { return a[i]; }

v16b average(v16b a, v16b b) { return (a & b) + ((a ^ b) >> 1); }

v4i as_int(v4f a) { return (v4i)a; }

v8s shifted(v8s a, v8s n) { return (a << n) ^ (a >> 3); }

v4l widened(v4i a) { return __builtin_convertvector(a, v4l); }

v8h half_math(v8h a, v8h b) { return a * b - (v8h)1.5f16; }

v4f sqrt_all(v4f a) { return __builtin_elementwise_sqrt(a); }

v4i max_all(v4i a, v4i b) { return __builtin_elementwise_max(a, b); }

int sum_all(v4i a) { return __builtin_reduce_add(a); }

v8f masked(v8b m, v8f a, v8f b) { return m ? a : b; }

void sum_rows(const v4f *rows, int n, v4f *out) {
  v4f s = {0};
  for (int i = 0; i < n; i++) s += rows[i];
  *out = s;
}

v4f constants(int which) {
  static const v4f table[2] = {{1, 2, 3, 4}, {0.5f, -0.0f, 1e30f, 3.25f}};
  return table[which & 1];
}

v2d dup_fabs(v2d a) { return a < 0 ? -a : a; }
