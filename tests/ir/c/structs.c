// Structs, unions, bit-fields, arrays in them, by value and by reference, packed and aligned.

typedef struct { int x, y; } point;
typedef struct { double re, im; } cplx;
typedef struct { char tag; double value; short parts[3]; point at; } record;
typedef struct __attribute__((packed)) { char a; int b; short c; } tight;
typedef struct { unsigned low : 3, mid : 7; int high : 22; long long far : 40; } fields;
typedef union { float f; unsigned u; unsigned char bytes[4]; } bits;
typedef struct node { struct node *next; int value; } node;
typedef struct { float m[4][4]; } matrix;
typedef struct { char big[100]; } large;
typedef struct __attribute__((aligned(32))) { float v[8]; } lanes;
typedef struct { int n; float data[]; } flexible;
typedef struct { struct { int a, b; } in; union { int i; double d; }; } mixed;
typedef struct {} empty;
typedef struct opaque opaque;

point add_points(point a, point b) { return (point){a.x + b.x, a.y + b.y}; }

cplx mul_complex(cplx a, cplx b) {
  return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

int manhattan(const point *p) {
  return (p->x < 0 ? -p->x : p->x) + (p->y < 0 ? -p->y : p->y);
}

void fill(record *r, char tag, double v) {
  r->tag = tag;
  r->value = v;
  for (int i = 0; i < 3; i++) r->parts[i] = (short)(i * tag);
  r->at.x = r->at.y = (int)v;
}

record make_record(int seed) {
  record r = {'r', seed * 0.5, {1, 2, 3}, {seed, -seed}};
  return r;
}

int tight_sum(tight *t) { return t->a + t->b + t->c; }

void set_fields(fields *f, unsigned a, int b, long long c) {
  f->low = a;
  f->mid = a >> 3;
  f->high = b;
  f->far = c;
}

long long get_fields(const fields *f) { return f->low + f->mid + f->high + f->far; }

unsigned float_bits(float x) {
  bits b;
  b.f = x;
  return b.u;
}

unsigned char top_byte(bits b) { return b.bytes[3]; }

int list_sum(const node *n) {
  int s = 0;
  for (; n; n = n->next) s += n->value;
  return s;
}

node *reverse(node *n) {
  node *done = 0;
  while (n) {
    node *next = n->next;
    n->next = done;
    done = n;
    n = next;
  }
  return done;
}

matrix identity(void) {
  matrix m = {{{0}}};
  for (int i = 0; i < 4; i++) m.m[i][i] = 1;
  return m;
}

void transform(const matrix *m, const float v[4], float out[4]) {
  for (int i = 0; i < 4; i++) {
    out[i] = 0;
    for (int j = 0; j < 4; j++) out[i] += m->m[i][j] * v[j];
  }
}

large copy_large(large a) { a.big[99] = 1; return a; }

float lane_sum(const lanes *l) {
  float s = 0;
  for (int i = 0; i < 8; i++) s += l->v[i];
  return s;
}

float flexible_max(const flexible *f) {
  float m = 0;
  for (int i = 0; i < f->n; i++) if (f->data[i] > m) m = f->data[i];
  return m;
}

int mixed_read(mixed m, int which) { return which ? m.i : m.in.a + m.in.b; }

int takes_empty(empty e, int x) { return x; }

opaque *pass_on(opaque *o) { return o; }

void swap_records(record *a, record *b) {
  record t = *a;
  *a = *b;
  *b = t;
}

void array_of_structs(point *p, int n) {
  for (int i = 0; i < n; i++) p[i] = (point){p[i].y, p[i].x};
}

point *advance(point *p, long by) { return &p[by] + 1; }

long field_distance(record *r) { return (char *)&r->at - (char *)r; }
