/* Images (OpenCL C 1.2, 6.12.14; 3.0, 6.15.15): reading with and without samplers, writing, and what they are. */
#include "image_descriptor.h"
#include "rounding.h"

typedef const global struct weft_image *image;

/* The types of images and samplers are pointers in the end: handles.py defines the functions that say so. */
#define IMAGE_TYPES(M)                                                                                                 \
  M(image1d_t) M(image1d_buffer_t) M(image1d_array_t) M(image2d_t) M(image2d_array_t) M(image3d_t) M(image2d_depth_t)  \
  M(image2d_array_depth_t)
#define DESCRIPTORS(T)                                                                                                 \
  image PURE descriptor_of(read_only T x);                                                                             \
  image PURE descriptor_of(write_only T x);                                                                            \
  image PURE descriptor_of(read_write T x);
IMAGE_TYPES(DESCRIPTORS)
uint __weft_sampler_bits(sampler_t x) __attribute__((const)) EXTERN("__weft_sampler_bits");

#define LIBRARY __attribute__((overloadable, noinline, pure))

/* From the order in memory to red, green, blue, alpha, or back (image_descriptor.h). */
#define ORDERED(T, T4)                                                                                                 \
  HELPER T channel(T4 c, uint which) {                                                                                 \
    const T low = which & 1 ? c.y : c.x, high = which & 1 ? c.w : c.z;                                                 \
    return which & 4 ? (T)(which & 1) : (which & 2 ? high : low);                                                      \
  }                                                                                                                    \
  HELPER T4 ordered(T4 c, uint order) {                                                                                \
    if (order == 0x3210)                                                                                               \
      return c;                                                                                                        \
    return (T4)(channel(c, order), channel(c, order >> 4), channel(c, order >> 8), channel(c, order >> 12));           \
  }
ORDERED(float, float4)
ORDERED(int, int4)
ORDERED(uint, uint4)

#define PIXEL(I, X, Y, Z)                                                                                              \
  (I->pixels + (long)(Z) * I->slice_pitch + (long)(Y) * I->row_pitch + (long)(X) * I->pixel_bytes)

float BUILTIN power_of_c(float x, float y) __attribute__((const)) EXTERN("powf");
HELPER float linear_of_srgb(float c) { return c <= 0.04045f ? c / 12.92f : power_of_c((c + 0.055f) / 1.055f, 2.4f); }
HELPER float srgb_of_linear(float c) {
  const float d = c > 0 ? (c < 1 ? c : 1.0f) : 0.0f;
  return d <= 0.0031308f ? 12.92f * d : 1.055f * power_of_c(d, 1 / 2.4f) - 0.055f;
}
HELPER bool is_srgb(uint order) { return order == CLK_sRGBA || order == CLK_sBGRA; }

HELPER int channel_bytes(image i) { return i->pixel_bytes >> (i->channels >> 1); }
/* The bits of a pixel's channels. */
#define CHANNELS(T)                                                                                                    \
  {                                                                                                                    \
    const global T *p = (const global T *)at;                                                                          \
    c.x = p[0];                                                                                                        \
    if (count > 1) {                                                                                                   \
      c.y = p[1];                                                                                                      \
      if (count > 2) {                                                                                                 \
        c.z = p[2];                                                                                                    \
        c.w = p[3];                                                                                                    \
      }                                                                                                                \
    }                                                                                                                  \
    break;                                                                                                             \
  }
uint4 LIBRARY fetch_bits(image i, int x, int y, int z) {
  const global char *at = PIXEL(i, x, y, z);
  const int count = i->channels;
  uint4 c = 0;
  switch (channel_bytes(i)) {
  case 1: CHANNELS(uchar)
  case 2: CHANNELS(ushort)
  default: CHANNELS(uint)
  }
  return c;
}
HELPER int4 signed_bits(image i, uint4 bits) {
  const uint unused = 32 - 8 * channel_bytes(i);
  return as_int4(bits << unused) >> unused;
}
float4 LIBRARY fetch_f(image i, int x, int y, int z) {
  const uint4 bits = fetch_bits(i, x, y, z);
  const uint type = i->channel_type;
  float4 c;
  if (type == CLK_FLOAT)
    c = as_float4(bits);
  else if (type == CLK_HALF_FLOAT)
    c = __builtin_convertvector(as_half4(__builtin_convertvector(bits, ushort4)), float4);
  else {
    /* Of signed channels the least number is -1 as well. */
    const bool is_signed = type == CLK_SNORM_INT8 || type == CLK_SNORM_INT16;
    const float one = (float)((1u << (8 * channel_bytes(i) - is_signed)) - 1);
    c = __builtin_convertvector(is_signed ? signed_bits(i, bits) : as_int4(bits), float4) / one;
    c = __builtin_elementwise_max(c, (float4)(-1.0f));
  }
  c = ordered(c, i->read_order);
  if (is_srgb(i->channel_order))
    c = (float4)(linear_of_srgb(c.x), linear_of_srgb(c.y), linear_of_srgb(c.z), c.w);
  return c;
}
int4 LIBRARY fetch_i(image i, int x, int y, int z) {
  return ordered(signed_bits(i, fetch_bits(i, x, y, z)), i->read_order);
}
uint4 LIBRARY fetch_ui(image i, int x, int y, int z) {
  return ordered(fetch_bits(i, x, y, z), i->read_order);
}
HELPER half4 fetch_h(image i, int x, int y, int z) {
  return __builtin_convertvector(fetch_f(i, x, y, z), half4);
}

/* Outside of the image: black, and opaque where the order has no alpha. */
HELPER bool has_alpha(uint order) {
  switch (order) {
  case CLK_R:
  case CLK_RG:
  case CLK_RGB:
  case CLK_LUMINANCE:
  case CLK_DEPTH: return false;
  default: return true;
  }
}
#define PICKED(NAME, T, T4)                                                                                            \
  HELPER T4 picked_##NAME(image i, int x, int y, int z, int height, int depth) {                                       \
    const bool inside = x >= 0 && x < i->width && y >= 0 && y < height && z >= 0 && z < depth;                         \
    if (inside)                                                                                                        \
      return fetch_##NAME(i, x, y, z);                                                                                 \
    return (T4)(0, 0, 0, has_alpha(i->channel_order) ? 0 : 1);                                                         \
  }
PICKED(f, float, float4)
PICKED(i, int, int4)
PICKED(ui, uint, uint4)

/* Places along one dimension: the nearest pixel of a coordinate. */
HELPER int clamped(int at, int low, int high) {
  const int up = at < low ? low : at;
  return up > high ? high : up;
}
HELPER int whole(float x) {
  const float floor = __builtin_elementwise_floor(x);
  return (int)(floor < -2.0f ? -2.0f : (floor < 0x1p30f ? floor : (x == x ? 0x1p30f : -2.0f)));
}
HELPER int addressed(int at, int size, uint bits) {
  return (bits & 14) == CLK_ADDRESS_CLAMP ? clamped(at, -1, size) : clamped(at, 0, size - 1);
}
/* A coordinate in pixels, within one period where it repeats. */
HELPER float in_pixels(float s, int size, uint bits) {
  if (!(bits & WEFT_SAMPLER_NORMALIZED))
    return s;
  if ((bits & 14) == CLK_ADDRESS_REPEAT)
    return (s - __builtin_elementwise_floor(s)) * (float)size;
  if ((bits & 14) == CLK_ADDRESS_MIRRORED_REPEAT)
    return __builtin_elementwise_abs(s - 2.0f * __builtin_elementwise_rint(0.5f * s)) * (float)size;
  return s * (float)size;
}
HELPER int nearest(float s, int size, uint bits) {
  const int at = whole(in_pixels(s, size, bits));
  const uint mode = bits & 14;
  if (mode == CLK_ADDRESS_REPEAT)
    return at >= size ? at - size : clamped(at, 0, size - 1);
  return addressed(at, size, bits);
}
HELPER int neighbour(int at, int size, uint bits) {
  const uint mode = bits & 14;
  if (mode == CLK_ADDRESS_REPEAT)
    return at < 0 ? at + size : (at >= size ? at - size : at);
  return addressed(at, size, bits);
}
HELPER int layer(float s, int layers) { return clamped(whole(__builtin_elementwise_rint(s)), 0, layers - 1); }

/* The nearest pixel, or the weighted sum over the two, four or eight around a point; z is a layer where there are such. */
float4 LIBRARY filtered_f(image i, float4 s, int dimensions, int z, uint bits) {
  const bool linear = bits & WEFT_SAMPLER_LINEAR;
  const float x = in_pixels(s.x, i->width, bits) - 0.5f;
  const float y = dimensions > 1 ? in_pixels(s.y, i->height, bits) - 0.5f : 0.0f;
  const float d = dimensions > 2 ? in_pixels(s.z, i->depth, bits) - 0.5f : 0.0f;
  const int x0 = whole(x), y0 = whole(y), z0 = whole(d);
  const float a = x - __builtin_elementwise_floor(x), b = y - __builtin_elementwise_floor(y);
  const float c = d - __builtin_elementwise_floor(d);
  const int height = dimensions > 1 ? i->height : 1, depth = dimensions > 2 ? i->depth : z + 1;
  float4 sum = 0;
  for (int k = 0; k < (linear ? 1 << dimensions : 1); k++) {
    const int dx = k & 1, dy = (k >> 1) & 1, dz = k >> 2;
    const int px = linear ? neighbour(x0 + dx, i->width, bits) : nearest(s.x, i->width, bits);
    const int py = dimensions < 2 ? 0 : linear ? neighbour(y0 + dy, height, bits) : nearest(s.y, height, bits);
    const int pz = dimensions < 3 ? z : linear ? neighbour(z0 + dz, depth, bits) : nearest(s.z, depth, bits);
    const float4 pixel = picked_f(i, px, py, pz, height, depth);
    if (!linear)
      return pixel;
    const float weight = (dx ? a : 1 - a) * (dimensions > 1 ? (dy ? b : 1 - b) : 1) * (dimensions > 2 ? (dz ? c : 1 - c) : 1);
    sum += weight * pixel;
  }
  return sum;
}

/* Through a sampler. NAME is the kind of value; only floats are interpolated. */
#define SAMPLED(NAME, T4)                                                                                              \
  HELPER T4 sampled_##NAME(image i, float4 s, int dimensions, int z, uint bits) {                                      \
    const int x = nearest(s.x, i->width, bits), y = dimensions > 1 ? nearest(s.y, i->height, bits) : 0;                \
    const int d = dimensions > 2 ? nearest(s.z, i->depth, bits) : z;                                                   \
    return picked_##NAME(i, x, y, d, dimensions > 1 ? i->height : 1, dimensions > 2 ? i->depth : z + 1);               \
  }                                                                                                                    \
  HELPER T4 sampled_##NAME(image i, int4 s, int dimensions, int z, uint bits) {                                        \
    const int x = addressed(s.x, i->width, bits), y = dimensions > 1 ? addressed(s.y, i->height, bits) : 0;            \
    const int d = dimensions > 2 ? addressed(s.z, i->depth, bits) : z;                                                 \
    return picked_##NAME(i, x, y, d, dimensions > 1 ? i->height : 1, dimensions > 2 ? i->depth : z + 1);               \
  }
SAMPLED(f, float4)
SAMPLED(i, int4)
SAMPLED(ui, uint4)
HELPER float4 filtered_f(image i, int4 s, int dimensions, int z, uint bits) {
  return sampled_f(i, s, dimensions, z, bits);
}
#define filtered_i sampled_i
#define filtered_ui sampled_ui
HELPER int layer(int s, int layers) { return clamped(s, 0, layers - 1); }

/* WIDE makes four coordinates of those that there are. */
#define READING __attribute__((overloadable, pure))
#define READ(NAME, KIND, RESULT, SUFFIX, T, C, WIDE, DIMENSIONS, LAYER)                                                \
  RESULT READING read_image##NAME(read_only T x, sampler_t sampler, C at) {                                            \
    const image i = descriptor_of(x);                                                                                  \
    return SUFFIX(filtered_##KIND(i, WIDE, DIMENSIONS, LAYER, __weft_sampler_bits(sampler)));                          \
  }
#define READ_ALL(NAME, KIND, RESULT, SUFFIX, F, F2, F4)                                                                \
  READ(NAME, KIND, RESULT, SUFFIX, image1d_t, F, (F4)(at, 0, 0, 0), 1, 0)                                              \
  READ(NAME, KIND, RESULT, SUFFIX, image1d_array_t, F2, (F4)(at.x, 0, 0, 0), 1, layer(at.y, i->layers))                \
  READ(NAME, KIND, RESULT, SUFFIX, image2d_t, F2, (F4)(at, 0, 0), 2, 0)                                                \
  READ(NAME, KIND, RESULT, SUFFIX, image2d_array_t, F4, at, 2, layer(at.z, i->layers))                                 \
  READ(NAME, KIND, RESULT, SUFFIX, image3d_t, F4, at, 3, 0)
#define READ_BOTH(NAME, KIND, RESULT, SUFFIX)                                                                          \
  READ_ALL(NAME, KIND, RESULT, SUFFIX, float, float2, float4)                                                          \
  READ_ALL(NAME, KIND, RESULT, SUFFIX, int, int2, int4)
#define AS_IT_IS(x) x
#define AS_HALF(x) __builtin_convertvector(x, half4)
#define AS_DEPTH(c) (c).x
READ_BOTH(f, f, float4, AS_IT_IS)
READ_BOTH(i, i, int4, AS_IT_IS)
READ_BOTH(ui, ui, uint4, AS_IT_IS)
READ_BOTH(h, f, half4, AS_HALF)
READ(f, f, float, AS_DEPTH, image2d_depth_t, float2, (float4)(at, 0, 0), 2, 0)
READ(f, f, float, AS_DEPTH, image2d_depth_t, int2, (int4)(at, 0, 0), 2, 0)
READ(f, f, float, AS_DEPTH, image2d_array_depth_t, float4, at, 2, layer(at.z, i->layers))
READ(f, f, float, AS_DEPTH, image2d_array_depth_t, int4, at, 2, layer(at.z, i->layers))

/* Without a sampler coordinates are inside of the image; those that are not are taken to its edge. */
#define PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, T, C, X, Y, Z)                                                       \
  RESULT READING read_image##NAME(ACCESS T x, C at) {                                                                  \
    const image i = descriptor_of(x);                                                                                  \
    return SUFFIX(fetch_##KIND(i, clamped(X, 0, i->width - 1), Y, Z));                                                 \
  }
#define ROW(C) clamped(C, 0, i->height - 1)
#define LAYER(C) clamped(C, 0, i->layers - 1)
#define SLICE(C) clamped(C, 0, i->depth - 1)
#define PLAIN_ALL(NAME, KIND, RESULT, SUFFIX, ACCESS)                                                                  \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image1d_t, int, at, 0, 0)                                                  \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image1d_buffer_t, int, at, 0, 0)                                           \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image1d_array_t, int2, at.x, 0, LAYER(at.y))                               \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image2d_t, int2, at.x, ROW(at.y), 0)                                       \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image2d_array_t, int4, at.x, ROW(at.y), LAYER(at.z))                       \
  PLAIN(NAME, KIND, RESULT, SUFFIX, ACCESS, image3d_t, int4, at.x, ROW(at.y), SLICE(at.z))
#define PLAIN_KINDS(ACCESS)                                                                                            \
  PLAIN_ALL(f, f, float4, AS_IT_IS, ACCESS)                                                                            \
  PLAIN_ALL(i, i, int4, AS_IT_IS, ACCESS)                                                                              \
  PLAIN_ALL(ui, ui, uint4, AS_IT_IS, ACCESS)                                                                           \
  PLAIN_ALL(h, h, half4, AS_IT_IS, ACCESS)                                                                             \
  PLAIN(f, f, float, AS_DEPTH, ACCESS, image2d_depth_t, int2, at.x, ROW(at.y), 0)                                      \
  PLAIN(f, f, float, AS_DEPTH, ACCESS, image2d_array_depth_t, int4, at.x, ROW(at.y), LAYER(at.z))
PLAIN_KINDS(read_only)
PLAIN_KINDS(read_write)

/* Writing. What lies outside of the image is not written. */
#define PUT(T, VALUE)                                                                                                  \
  {                                                                                                                    \
    global T *p = (global T *)at;                                                                                      \
    p[0] = VALUE(c.x);                                                                                                 \
    if (count > 1)                                                                                                     \
      p[1] = VALUE(c.y);                                                                                               \
    if (count > 2) {                                                                                                   \
      p[2] = VALUE(c.z);                                                                                               \
      p[3] = VALUE(c.w);                                                                                               \
    }                                                                                                                  \
    break;                                                                                                             \
  }
HELPER float scaled(float x, float low, float high) {
  const float y = __builtin_elementwise_rint(x * high);
  const float z = y > low ? y : low;
  return x != x ? 0.0f : (z < high ? z : high);
}
#define TO_SNORM8(x) (char)scaled(x, -127.0f, 127.0f)
#define TO_SNORM16(x) (short)scaled(x, -32767.0f, 32767.0f)
#define TO_UNORM8(x) (uchar)scaled(x, 0.0f, 255.0f)
#define TO_UNORM16(x) (ushort)scaled(x, 0.0f, 65535.0f)
#define TO_HALF(x) to_half_rte(x)
#define STORING __attribute__((overloadable, noinline))
void STORING store_f(image i, int x, int y, int z, float4 color) {
  global char *at = PIXEL(i, x, y, z);
  const int count = i->channels;
  if (is_srgb(i->channel_order))
    color = (float4)(srgb_of_linear(color.x), srgb_of_linear(color.y), srgb_of_linear(color.z), color.w);
  const float4 c = ordered(color, i->stored_order);
  switch (i->channel_type) {
  case CLK_SNORM_INT8: PUT(char, TO_SNORM8)
  case CLK_SNORM_INT16: PUT(short, TO_SNORM16)
  case CLK_UNORM_INT8: PUT(uchar, TO_UNORM8)
  case CLK_UNORM_INT16: PUT(ushort, TO_UNORM16)
  case CLK_HALF_FLOAT: PUT(half, TO_HALF)
  case CLK_FLOAT: PUT(float, AS_IT_IS)
  }
}
#undef PUT
#define PUT(T, LOW, HIGH, MIN)                                                                                         \
  {                                                                                                                    \
    global T *p = (global T *)at;                                                                                      \
    p[0] = MIN(c.x, LOW, HIGH);                                                                                        \
    if (count > 1)                                                                                                     \
      p[1] = MIN(c.y, LOW, HIGH);                                                                                      \
    if (count > 2) {                                                                                                   \
      p[2] = MIN(c.z, LOW, HIGH);                                                                                      \
      p[3] = MIN(c.w, LOW, HIGH);                                                                                      \
    }                                                                                                                  \
    break;                                                                                                             \
  }
#define AT_MOST(x, LOW, HIGH) (x > HIGH ? HIGH : x)
void STORING store_i(image i, int x, int y, int z, int4 color) {
  global char *at = PIXEL(i, x, y, z);
  const int count = i->channels;
  const int4 c = ordered(color, i->stored_order);
  switch (i->channel_type) {
  case CLK_SIGNED_INT8: PUT(char, SCHAR_MIN, SCHAR_MAX, clamped)
  case CLK_SIGNED_INT16: PUT(short, SHRT_MIN, SHRT_MAX, clamped)
  case CLK_SIGNED_INT32: PUT(int, INT_MIN, INT_MAX, clamped)
  }
}
void STORING store_ui(image i, int x, int y, int z, uint4 color) {
  global char *at = PIXEL(i, x, y, z);
  const int count = i->channels;
  const uint4 c = ordered(color, i->stored_order);
  switch (i->channel_type) {
  case CLK_UNSIGNED_INT8: PUT(uchar, 0, UCHAR_MAX, AT_MOST)
  case CLK_UNSIGNED_INT16: PUT(ushort, 0, USHRT_MAX, AT_MOST)
  case CLK_UNSIGNED_INT32: PUT(uint, 0, UINT_MAX, AT_MOST)
  }
}
#define WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, T, C, X, Y, Z, HEIGHT, DEPTH)                                       \
  void BUILTIN write_image##NAME(ACCESS T x, C at, VALUE color) {                                                      \
    const image i = descriptor_of(x);                                                                                  \
    if ((uint)(X) < (uint)i->width && (uint)(Y) < (uint)(HEIGHT) && (uint)(Z) < (uint)(DEPTH))                         \
      store_##KIND(i, X, Y, Z, PREPARED(color));                                                                       \
  }
#define WRITE_ALL(NAME, KIND, VALUE, PREPARED, ACCESS)                                                                 \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image1d_t, int, at, 0, 0, 1, 1)                                           \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image1d_buffer_t, int, at, 0, 0, 1, 1)                                    \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image1d_array_t, int2, at.x, 0, at.y, 1, i->layers)                       \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image2d_t, int2, at.x, at.y, 0, i->height, 1)                             \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image2d_array_t, int4, at.x, at.y, at.z, i->height, i->layers)            \
  WRITE(NAME, KIND, VALUE, PREPARED, ACCESS, image3d_t, int4, at.x, at.y, at.z, i->height, i->depth)
#define WIDENED(x) __builtin_convertvector(x, float4)
#define WRITE_KINDS(ACCESS)                                                                                            \
  WRITE_ALL(f, f, float4, AS_IT_IS, ACCESS)                                                                            \
  WRITE_ALL(i, i, int4, AS_IT_IS, ACCESS)                                                                              \
  WRITE_ALL(ui, ui, uint4, AS_IT_IS, ACCESS)                                                                           \
  WRITE_ALL(h, f, half4, WIDENED, ACCESS)                                                                              \
  WRITE(f, f, float, (float4), ACCESS, image2d_depth_t, int2, at.x, at.y, 0, i->height, 1)                             \
  WRITE(f, f, float, (float4), ACCESS, image2d_array_depth_t, int4, at.x, at.y, at.z, i->height, i->layers)
WRITE_KINDS(write_only)
WRITE_KINDS(read_write)

/* What an image is. */
#define ASK(RESULT, NAME, T, VALUE)                                                                                    \
  RESULT READING NAME(read_only T x) { const image i = descriptor_of(x); return VALUE; }                               \
  RESULT READING NAME(write_only T x) { const image i = descriptor_of(x); return VALUE; }                              \
  RESULT READING NAME(read_write T x) { const image i = descriptor_of(x); return VALUE; }
#define ASK_ANY(T)                                                                                                     \
  ASK(int, get_image_width, T, i->width)                                                                               \
  ASK(int, get_image_channel_data_type, T, (int)i->channel_type)                                                       \
  ASK(int, get_image_channel_order, T, (int)i->channel_order)
#define ASK_PLANE(T) ASK(int, get_image_height, T, i->height) ASK(int2, get_image_dim, T, (int2)(i->width, i->height))
#define ASK_ARRAY(T) ASK(size_t, get_image_array_size, T, (size_t)i->layers)
IMAGE_TYPES(ASK_ANY)
ASK_PLANE(image2d_t)
ASK_PLANE(image2d_array_t)
ASK_PLANE(image2d_depth_t)
ASK_PLANE(image2d_array_depth_t)
ASK(int, get_image_height, image3d_t, i->height)
ASK(int, get_image_depth, image3d_t, i->depth)
ASK(int4, get_image_dim, image3d_t, (int4)(i->width, i->height, i->depth, 0))
ASK_ARRAY(image1d_array_t)
ASK_ARRAY(image2d_array_t)
ASK_ARRAY(image2d_array_depth_t)
