/* Commands that move bytes, for buffers, images and shared memory. */

#ifndef WEFT_OPENCL_TRANSFERS_H
#define WEFT_OPENCL_TRANSFERS_H

#include "objects.h"

/* Boxes of bytes: `bytes[0]` contiguous ones, in rows and slices; a plain copy has one row. */
struct copy {
    char *to;
    const char *from;
    size_t bytes[3];
    size_t to_row, to_slice, from_row, from_slice;
};

cl_int submit_copy(cl_command_queue queue, cl_uint type, const struct copy *copy, cl_mem first, cl_mem second,
                   bool blocking, cl_uint count, const cl_event *waits, cl_event *event);

/* Fills of contiguous bytes; the pattern has a power of two of them, up to 128. */
struct command *fill_command(cl_command_queue queue, cl_uint type, void *to, const void *pattern,
                             size_t pattern_bytes, size_t bytes);
bool fill_pattern_wrong(const void *pattern, size_t bytes);

/* What the host may do with an object: CL_INVALID_OPERATION if it was made with one of the flags. */
cl_int check_host(const struct memory *memory, cl_bitfield forbidden);
cl_int map_flags(const struct memory *memory, cl_bitfield flags);
void *map_enqueue(cl_command_queue queue, cl_mem memory, cl_uint type, char *pointer, cl_bool blocking, cl_uint count,
                  const cl_event *waits, cl_event *event, cl_int *error);

/* memory.c: making objects with data. */
struct memory *memory_make(struct context *context, cl_uint type, cl_bitfield flags);
cl_int memory_flags(cl_bitfield flags, const void *host);
cl_int memory_inherit(cl_bitfield whole, cl_bitfield *flags);
cl_int memory_place(struct memory *memory, void *host);
struct svm_block *svm_find(struct context *context, const void *pointer, size_t bytes);

/* colors.c: which of red, green, blue and alpha each channel of a pixel is, and how many there are; none is 0. */
const unsigned char *color_channels(cl_uint order, size_t *count);

/* images.c: regions of images, and the bytes from one row to the next. */
cl_int image_check(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_mem image);
cl_int image_check_region(const struct memory *image, const size_t *origin, const size_t *region);
size_t image_place(const struct memory *image, const size_t *origin);
size_t image_y_pitch(const struct memory *image);

#endif
