// Globals of every linkage, initializers of every kind, and the expressions between them.

int plain;
int initialized = 42;
static int internal_counter = 1;
extern int elsewhere;
const double constants[] = {0.5, -1.25, 1e300, 0.1};
static const char *const words[] = {"alpha", "beta", "", "tab\tquote\"back\\slash\x01\xff"};
char text[16] = "hello";
char zeros[1000];
int *pointer_to = &initialized;
int *into_array = (int[4]){1, 2, 3, 4} + 2;
char *middle = text + 3;
long address_as_integer = (long)&initialized;
struct pair { short s; struct { float f; char *p; } in; } pairs[2] = {{1, {2.5f, text}}, {-1, {0, &text[1]}}};
_Thread_local int per_thread = 3;
__attribute__((weak)) int weak_value = 9;
__attribute__((visibility("hidden"))) int hidden_value;
__attribute__((section(".custom"))) int sectioned = 1;
__attribute__((aligned(128))) float aligned_values[4];
__attribute__((used)) static int kept = 5;
union { int i; double d; } choice = {.d = 2.0};
_Complex float unit = 1.0f;
__attribute__((address_space(1))) int in_space_one;
int (*table[])(int);
_Bool flags[3] = {1, 0, 1};
typedef int v4i __attribute__((vector_size(16)));
v4i vector_value = {1, -2, 3, -4};
_Float16 half_value = 1.5f16;

int next_internal(void) { return internal_counter++; }
int read_elsewhere(void) { return elsewhere; }
void write_elsewhere(int x) { elsewhere = x; }
double constant_at(int i) { return constants[i & 3]; }
const char *word(int i) { return words[i & 3]; }
char letter(int i) { return text[i & 15]; }
int through(void) { return *pointer_to + *into_array; }
int thread_value(void) { return ++per_thread; }
float pair_float(int i) { return pairs[i & 1].in.f; }
int spaced(void) { return in_space_one; }
int lookup(int i, int x) { return table[i](x); }
int doubled(int x) { return 2 * x; }
int squared(int x) { return x * x; }
int (*table[])(int) = {doubled, squared, 0};
int static_local(int x) {
  static int calls;
  static float memory[4] = {1, 2};
  memory[calls & 3] += x;
  return ++calls + (int)memory[0];
}
int weak_sum(void) { return weak_value + hidden_value + sectioned + kept; }
v4i vector_sum(void) { return vector_value + vector_value; }
const char *where(void) { return __func__; }
__attribute__((weak)) int weak_function(int x) { return x; }
int alias_target(int x) { return x - 1; }
int other_name(int) __attribute__((alias("alias_target")));
int call_alias(int x) { return other_name(x); }
