/* What a kernel's image argument points to, and what its sampler argument is: filled by whoever launches. This file is
 * read by the builtin library, as OpenCL C, and by the driver, as C. */
#ifndef WEFT_IMAGE_DESCRIPTOR_H
#define WEFT_IMAGE_DESCRIPTOR_H

#ifdef __OPENCL_C_VERSION__
#define WEFT_PIXELS __global char *
#define WEFT_LONG long
#else
#define WEFT_PIXELS char *
#define WEFT_LONG long long
#endif

/* 64 bytes. Of an array of images, layers take the place of what its images lack: `slice_pitch` is from one to the next,
 * whether they have one dimension or two. */
struct weft_image {
  WEFT_PIXELS pixels;
  /* Bytes from a row, and from a slice or layer, to the next. */
  WEFT_LONG row_pitch, slice_pitch;
  /* In pixels; 1 in a dimension that the image has not. */
  int width, height, depth;
  /* Images of an array; 0 where it is none. */
  int layers;
  /* As the API and the language number them: CL_RGBA, CL_UNORM_INT8. */
  unsigned channel_order, channel_type;
  int pixel_bytes;
  /* In memory: 1, 2 or 4. */
  int channels;
  /* Which of them each of red, green, blue and alpha is, in four bits from the lowest on: 0 to 3; 4 for 0, and 5 for 1. */
  unsigned read_order;
  /* Which of red, green, blue and alpha each of them is. */
  unsigned stored_order;
};

/* A sampler is these bits, as a number of 64 bits: what clang makes of a sampler in a program. */
enum {
  WEFT_SAMPLER_NORMALIZED = 1,
  /* One of 0 (none), 2 (to the edge), 4 (border), 6 (repeat), 8 (mirrored). */
  WEFT_SAMPLER_ADDRESSING = 14,
  WEFT_SAMPLER_NEAREST = 16,
  WEFT_SAMPLER_LINEAR = 32
};

#endif
