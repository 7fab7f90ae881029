// C++: functions for one lane of the same parameters as those of functions.c.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>

#define ARGS float x, float y, int k, long s, float *p

template <class T> static T power(T base, unsigned n) { T r = 1; for (; n; n >>= 1, base *= base) if (n & 1) r *= base; return r; }
template <int N> struct Polynomial {
  float c[N];
  float operator()(float x) const { float r = c[N - 1]; for (int i = N - 2; i >= 0; i--) r = r * x + c[i]; return r; }
};
struct Vec {
  float x, y, z;
  Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vec operator*(float f) const { return {x * f, y * f, z * f}; }
  float dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
};
__attribute__((noinline)) static Vec reflected(Vec v, Vec n) { return v + n * (-2 * v.dot(n)); }
__attribute__((noinline)) static void step(float &a, float &b, int n) { while (n-- > 0) { float t = a + b; a = b; b = t * 0.5f; } }
struct Shape { virtual float area(float f) const { return f; } float scale; explicit Shape(float s) : scale(s) {} };
struct Square : Shape { using Shape::Shape; float area(float f) const override { return scale * f * f; } };
struct Disc : Shape { using Shape::Shape; float area(float f) const override { float r = 0; for (int i = 0; i < int(f) % 4; i++) r += 3 * scale; return r; } };
class Counter {
  int n = 0;
public:
  Counter &operator++() { n++; return *this; }
  void add(int by) { if (by > 0) n += by; }
  int value() const { return n; }
};
enum class Kind : unsigned char { plus, minus, times };

extern "C" {
float template_power(ARGS) { return power(x, k & 3) + power(k & 7, 3u) + float(power(double(y), 2)); }
float template_value(ARGS) { return Polynomial<4>{{1, y, x, 0.5f}}(x) - Polynomial<2>{{3, y}}(y); }
float operators(ARGS) { Vec a{x, y, 1}, b{y, float(k & 3), x}; return (a + b * 2).dot(b); }
float class_by_value(ARGS) { Vec v{x, y, 1}; if (k & 1) v = reflected(v, {0, 1, y}); return v.x + v.y * 2 + v.z; }
float references(ARGS) { float a = x, b = y; step(a, b, k & 7); return a - b; }
float virtual_call(ARGS) { Square q(x); Disc d(y); const Shape *one = k & 1 ? static_cast<const Shape *>(&q) : &d; return one->area(x + 2); }
float small_class(ARGS) { Counter c; for (int i = 0; i < (k & 15); i++) { ++c; c.add(int(x)); } return c.value(); }
float lambda(ARGS) { auto f = [=, n = k & 3](float v) { return v * x + n; }; return f(y) + f(f(x)); }
float lambda_reference(ARGS) { float r = 0; auto add = [&](float v) { if (v > 0) r += v; return r < 9; }; for (int i = 0; i < 12 && add(x + i * y); i++) {} return r; }
float minimum_maximum(ARGS) { return std::min(x, y) + std::max({x, y, float(k & 3)}) + std::clamp(k, -3, 9); }
float swaps(ARGS) { float a = x, b = y; if (k & 1) std::swap(a, b); auto [lo, hi] = std::minmax(a, b); return a * 2 + lo - hi; }
float array(ARGS) { std::array<float, 6> t; std::iota(t.begin(), t.end(), x); t[std::size_t(k & 3)] = y; return std::accumulate(t.begin(), t.end(), 0.0f); }
float sort(ARGS) { std::array<float, 5> t{x, y, 0, x * y, float(k & 7)}; std::sort(t.begin(), t.end(), [](float a, float b) { return a < b; }); return t[1] + 2 * t[3]; }
float find(ARGS) { std::array<int, 8> t{3, 1, 4, 1, 5, 9, 2, 6}; auto at = std::find(t.begin(), t.end(), k & 7); return at - t.begin(); }
float complex_class(ARGS) { std::complex<float> z(x, y), w(1, float(k & 3)); z = z * w + std::conj(z); return z.real() + 2 * z.imag() + std::norm(w); }
float enumeration(ARGS) { auto kind = static_cast<Kind>((k & 0xff) % 3); switch (kind) { case Kind::plus: return x + y; case Kind::minus: return x - y; case Kind::times: return x * y; } return 0; }
float range_for(ARGS) { float r = 0; for (float v : {x, y, x * y, 2.0f}) { if (v < 0) continue; r += v; } return r; }
float pair(ARGS) { auto halves = [](int n) { return std::pair(n / 2, n % 2); }; auto [q, r] = halves(k); return q + r * x; }
float double_class(ARGS) { std::complex<double> z(x, 0.5); for (int i = 0; i < (k & 3); i++) z = z * z; return float(std::abs(z.real())) + float(s); }
}
