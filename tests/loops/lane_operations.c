// Functions that ask the other lanes. Each takes (float x, float y, int k, long s, float *p): x, y and k vary, s and p
// are uniform; p has 64 elements. What they give at W lanes is what the interpreter says.
#include <stdbool.h>

#define ARGS float x, float y, int k, long s, float *p

bool rv_any(bool);
bool rv_all(bool);
int rv_ballot(bool);
long weft_ballot_64(bool);
int rv_popcount(bool);
int rv_index(bool);
bool rv_mask(void);
float rv_extract(float, int);
int rv_extract_i(int, int);
double rv_extract_d(double, long);
float rv_insert(float, int, float);
float rv_shuffle(float, int);
short weft_shuffle_s(short, int);
float rv_compact(float, bool);
double weft_compact_d(double, bool);
float rv_load(float *, int);
void rv_store(float *, int, float);
int rv_lane_id(void);
int rv_num_lanes(void);
bool weft_any(bool);
long weft_lane_id(void);

float any(ARGS) { return rv_any(x > 1.5f) ? x : y; }
float any_in_branch(ARGS) { if (k & 1) return rv_any(x > y) ? 1 : 2; return weft_any(x > 2) ? 3 : 4; }
float all(ARGS) { return rv_all(x > -1 || y > -1) ? x : -y; }
float all_in_branch(ARGS) { float r = x; if (y > 0) { r = rv_all(x > 0) ? 5 : 6; } return r; }
float ballot(ARGS) { return rv_ballot(x > y); }
float ballot_in_branch(ARGS) { if (x > 0) return rv_ballot(k & 1); return weft_ballot_64(y > 0) * 0.5f; }
float popcount(ARGS) { return rv_popcount(x > 0) + 100 * rv_popcount(s > 3); }
float popcount_in_loop(ARGS) { float r = 0; for (int i = 0; i < (k & 7); i++) r = r * 3 + rv_popcount(i < s); return r; }
float index(ARGS) { if (y > -2) return rv_index(x > 0); return -1; }
float mask(ARGS) { bool m = false; if (x > 0) m = rv_mask(); return rv_ballot(m) + rv_popcount(rv_mask()); }
float extract_first(ARGS) { return rv_extract(x, 0) + rv_extract_i(k, 1); }
float extract_uniform(ARGS) { return x - rv_extract(y, (int)s & (rv_num_lanes() - 1)); }
float extract_own(ARGS) { return rv_extract(x, (rv_lane_id() + k) & (rv_num_lanes() - 1)); }
float extract_double(ARGS) { return rv_extract_d(x * 0.5, rv_num_lanes() - 1); }
float extract_of_uniform(ARGS) { return rv_extract(s, 0) + x; }
float insert(ARGS) { return rv_insert(x, s & 1, 7) + rv_insert(y, k & 3, x); }
float shuffle(ARGS) { return rv_shuffle(x, 1) - rv_shuffle(y, -1) + weft_shuffle_s(k, 2); }
float shuffle_uniform(ARGS) { return rv_shuffle(x, s); }
float compact(ARGS) { return rv_compact(y, x > 0); }
float compact_double(ARGS) { return weft_compact_d(x * 3.0, k & 1); }
float loads(ARGS) { return rv_load(p + (k & 63), 0) + rv_load(p + rv_lane_id(), rv_num_lanes() - 1); }
float loads_uniform(ARGS) { return rv_load(p + s, 1); }
float stores(ARGS) { float t[4] = { x, y, 1, 2 }; rv_store(t + (k & 3), 0, 9); return t[0] + t[1] + t[2]; }
float lanes(ARGS) { return rv_lane_id() * 10 + rv_num_lanes() + weft_lane_id(); }
float contiguous(ARGS) { return p[rv_lane_id()] + x; }
float coherent(ARGS) { float r = x; if (rv_any(x < 0)) { if (x < 0) r = y * 2; } return r; }
float speculative(ARGS) {
  float r = 0; int left = k & 15;
  while (rv_any(left > 0)) { if (left > 0) { r += x; left--; } if (rv_popcount(left > 0) < 2) break; }
  return r + left;
}
__attribute__((noinline)) static float votes(float x, int k) { if (k & 2) return rv_popcount(x > 0); return rv_any(x > 2); }
float called(ARGS) { return y > 0 ? votes(x, k) : 2 * votes(y, 2); }
static float descends(float x, int n) { return n <= 0 ? rv_popcount(x > 0) : 1 + descends(x, n - 1); }
float recursion(ARGS) { return descends(x, k & 3); }
