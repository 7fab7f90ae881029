/* Images: pixels in rows and slices, and what can be asked of them. What kernels see of them, `describe` fills in. */

#include "transfers.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH_LIMIT = 16384, DEPTH_LIMIT = 2048, BUFFER_LIMIT = 1 << 27 };

static size_t channel_count(cl_uint order) {
    size_t count;
    color_channels(order, &count);
    return count;
}

static size_t channel_bytes(cl_uint type) {
    switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8: return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT: return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT: return 4;
    default: return 0;
    }
}

/* Whether channels of an order may have a type (OpenCL API 3.0, table of image channel orders). */
static bool fits(cl_uint order, cl_uint type) {
    size_t bytes = channel_bytes(type);
    switch (order) {
    case CL_R:
    case CL_A:
    case CL_RG:
    case CL_RA:
    case CL_RGBA: return bytes != 0;
    case CL_INTENSITY:
    case CL_LUMINANCE:
        return type == CL_SNORM_INT8 || type == CL_UNORM_INT8 || type == CL_SNORM_INT16 || type == CL_UNORM_INT16 ||
               type == CL_HALF_FLOAT || type == CL_FLOAT;
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR: return bytes == 1;
    case CL_SRGBA:
    case CL_SBGRA: return type == CL_UNORM_INT8;
    case CL_DEPTH: return type == CL_UNORM_INT16 || type == CL_FLOAT;
    default: return false;
    }
}

size_t image_element(const cl_image_format *format) {
    return fits(format->channel_order, format->channel_type)
               ? channel_count(format->channel_order) * channel_bytes(format->channel_type)
               : 0;
}

static cl_int check_format(const cl_image_format *format, cl_bitfield flags) {
    if (!format) return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    cl_uint order = format->channel_order, type = format->channel_type;
    if (order < CL_R || order > CL_ABGR || type < CL_SNORM_INT8 || type > CL_UNORM_INT_101010_2)
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (!image_element(format)) return CL_IMAGE_FORMAT_NOT_SUPPORTED;
    bool gamma = order == CL_SRGBA || order == CL_SBGRA;
    bool writes = flags & (CL_MEM_WRITE_ONLY | CL_MEM_READ_WRITE | CL_MEM_KERNEL_READ_AND_WRITE);
    return gamma && writes ? CL_IMAGE_FORMAT_NOT_SUPPORTED : CL_SUCCESS;
}

cl_int clGetSupportedImageFormats(cl_context context, cl_bitfield flags, cl_uint type, cl_uint room,
                                  cl_image_format *formats, cl_uint *count) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER || (!room && formats))
        return CL_INVALID_VALUE;
    cl_uint found = 0;
    for (cl_uint order = CL_R; order <= CL_ABGR; order++)
        for (cl_uint channel = CL_SNORM_INT8; channel <= CL_FLOAT; channel++) {
            cl_image_format format = {order, channel};
            bool flat = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
            if (check_format(&format, flags) || (order == CL_DEPTH && !flat)) continue;
            if (formats && found < room) formats[found] = format;
            found++;
        }
    if (count) *count = found;
    return CL_SUCCESS;
}

static bool is_array(cl_uint type) { return type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY; }

static bool is_flat(cl_uint type) {
    return type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
}

static cl_int take_sizes(struct memory *image, const cl_image_desc *wish, bool has_data) {
    cl_uint type = wish->type;
    image->width = wish->width;
    image->height = is_flat(type) ? wish->height : 1;
    image->depth = type == CL_MEM_OBJECT_IMAGE3D ? wish->depth : 1;
    image->layers = is_array(type) ? wish->array_size : 1;
    size_t limit = type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? (size_t)BUFFER_LIMIT
                   : type == CL_MEM_OBJECT_IMAGE3D      ? (size_t)DEPTH_LIMIT
                                                        : (size_t)WIDTH_LIMIT;
    if (!image->width || !image->height || !image->depth || !image->layers) return CL_INVALID_IMAGE_SIZE;
    if (image->width > limit || image->height > limit || image->depth > DEPTH_LIMIT || image->layers > DEPTH_LIMIT)
        return CL_INVALID_IMAGE_SIZE;
    size_t row = image->width * image->element;
    if (!has_data && (wish->row_pitch || wish->slice_pitch)) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (wish->row_pitch && (wish->row_pitch < row || wish->row_pitch % image->element))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    image->row_pitch = wish->row_pitch ? wish->row_pitch : row;
    size_t slice = image->row_pitch * (type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : image->height);
    if (wish->slice_pitch && (wish->slice_pitch < slice || wish->slice_pitch % image->row_pitch))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    bool slices = image->depth > 1 || is_array(type) || type == CL_MEM_OBJECT_IMAGE3D;
    image->slice_pitch = slices ? (wish->slice_pitch ? wish->slice_pitch : slice) : 0;
    image->size = slices ? image->slice_pitch * image->depth * image->layers : slice;
    return CL_SUCCESS;
}

/* An image whose pixels are those of a buffer or of another image. */
static cl_int take_source(struct memory *image, cl_mem source, cl_bitfield flags) {
    if (!object_is(source, MEMORY)) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (source->context != image->context) return CL_INVALID_CONTEXT;
    bool buffer = source->type == CL_MEM_OBJECT_BUFFER;
    if (image->type != CL_MEM_OBJECT_IMAGE1D_BUFFER && image->type != CL_MEM_OBJECT_IMAGE2D)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (image->type == CL_MEM_OBJECT_IMAGE1D_BUFFER && !buffer) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (image->size > source->size) return CL_INVALID_IMAGE_SIZE;
    cl_int wrong = memory_inherit(source->flags, &flags);
    if (wrong) return wrong;
    image->flags = flags;
    image->parent = source;
    object_hold(source);
    image->data = source->data;
    image->host = source->host;
    return CL_SUCCESS;
}

static void fill_from_host(struct memory *image, const char *host, const cl_image_desc *wish) {
    size_t row = image->width * image->element;
    size_t from_row = wish->row_pitch ? wish->row_pitch : row;
    size_t slices = image->depth * image->layers;
    size_t from_slice = wish->slice_pitch ? wish->slice_pitch : from_row * image->height;
    for (size_t z = 0; z < slices; z++)
        for (size_t y = 0; y < image->height; y++)
            memcpy(image->data + z * image->slice_pitch + y * image->row_pitch, host + z * from_slice + y * from_row,
                   row);
}

static cl_int image_fill_in(struct memory *image, const cl_image_desc *wish, cl_bitfield flags, void *host) {
    cl_mem source = wish->source;
    image->element = image_element(&image->format);
    cl_int wrong = take_sizes(image, wish, host || source);
    if (wrong) return wrong;
    if (source) return host ? CL_INVALID_HOST_PTR : take_source(image, source, flags);
    /* The host's own pitches are for its data; a copy has rows without gaps. */
    if (!(flags & CL_MEM_USE_HOST_PTR)) {
        image->row_pitch = image->width * image->element;
        if (image->slice_pitch) image->slice_pitch = image->row_pitch * image->height;
        image->size = image->row_pitch * image->height * image->depth * image->layers;
    }
    wrong = memory_place(image, host);
    if (!wrong && flags & CL_MEM_COPY_HOST_PTR) fill_from_host(image, host, wish);
    return wrong;
}

/* Where colours are in memory, and which is stored where (image_descriptor.h). */
static void find_orders(cl_uint order, unsigned *reading, unsigned *stored) {
    size_t count;
    const unsigned char *channels = color_channels(order, &count);
    *stored = 0;
    for (size_t k = 0; k < count; k++) *stored |= (unsigned)channels[k] << 4 * k;
    if (order == CL_INTENSITY || order == CL_LUMINANCE) {
        *reading = order == CL_INTENSITY ? 0x0000 : 0x5000;
        return;
    }
    *reading = 0x5444;
    for (unsigned k = 0; k < count; k++) *reading = (*reading & ~(15u << 4 * channels[k])) | k << 4 * channels[k];
}

static void describe(struct memory *image) {
    unsigned reading, stored;
    find_orders(image->format.channel_order, &reading, &stored);
    image->image = (struct weft_image){
        .pixels = image->data,
        .row_pitch = (long long)image->row_pitch,
        .slice_pitch = (long long)image->slice_pitch,
        .width = (int)image->width,
        .height = (int)image->height,
        .depth = (int)image->depth,
        .layers = is_array(image->type) ? (int)image->layers : 0,
        .channel_order = image->format.channel_order,
        .channel_type = image->format.channel_type,
        .pixel_bytes = (int)image->element,
        .channels = (int)channel_count(image->format.channel_order),
        .read_order = reading,
        .stored_order = stored,
    };
}

cl_mem clCreateImageWithProperties(cl_context context, const cl_properties64 *properties, cl_bitfield flags,
                                   const cl_image_format *format, const cl_image_desc *wish, void *host,
                                   cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (properties && properties[0]) FAIL(CL_INVALID_PROPERTY);
    cl_int wrong = memory_flags(flags, host);
    if (wrong == CL_INVALID_VALUE) FAIL(wrong);
    cl_int format_wrong = check_format(format, flags & CL_MEM_READ_ONLY ? flags : flags | CL_MEM_READ_WRITE);
    if (format_wrong) FAIL(format_wrong);
    if (!wish || wish->mip_levels || wish->samples || wish->type < CL_MEM_OBJECT_IMAGE2D ||
        wish->type > CL_MEM_OBJECT_IMAGE1D_BUFFER)
        FAIL(CL_INVALID_IMAGE_DESCRIPTOR);
    if (wish->type == CL_MEM_OBJECT_IMAGE1D_BUFFER && !wish->source) FAIL(CL_INVALID_IMAGE_DESCRIPTOR);
    if (wrong) FAIL(wrong);
    struct memory *image = memory_make(context, wish->type, flags);
    if (!image) FAIL(CL_OUT_OF_HOST_MEMORY);
    image->format = *format;
    wrong = image_fill_in(image, wish, flags, host);
    describe(image);
    if (!wrong) wrong = properties_copy(properties, &image->property_list, &image->property_bytes);
    if (wrong) {
        object_release(image, MEMORY, 0);
        FAIL(wrong);
    }
    if (error) *error = CL_SUCCESS;
    return image;
}

cl_mem clCreateImage(cl_context context, cl_bitfield flags, const cl_image_format *format,
                     const cl_image_desc *wish, void *host, cl_int *error) {
    return clCreateImageWithProperties(context, NULL, flags, format, wish, host, error);
}

cl_mem clCreateImage2D(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width,
                       size_t height, size_t row_pitch, void *host, cl_int *error) {
    cl_image_desc wish = {.type = CL_MEM_OBJECT_IMAGE2D, .width = width, .height = height, .row_pitch = row_pitch};
    cl_mem image = clCreateImageWithProperties(context, NULL, flags, format, &wish, host, error);
    if (error && *error == CL_INVALID_IMAGE_DESCRIPTOR) *error = CL_INVALID_IMAGE_SIZE;
    return image;
}

cl_mem clCreateImage3D(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width,
                       size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host, cl_int *error) {
    cl_image_desc wish = {.type = CL_MEM_OBJECT_IMAGE3D, .width = width, .height = height, .depth = depth,
                          .row_pitch = row_pitch, .slice_pitch = slice_pitch};
    if (depth <= 1) FAIL(CL_INVALID_IMAGE_SIZE);
    cl_mem image = clCreateImageWithProperties(context, NULL, flags, format, &wish, host, error);
    if (error && *error == CL_INVALID_IMAGE_DESCRIPTOR) *error = CL_INVALID_IMAGE_SIZE;
    return image;
}

static bool is_image(const void *object) {
    const struct memory *memory = object;
    return object_is(object, MEMORY) && memory->type >= CL_MEM_OBJECT_IMAGE2D &&
           memory->type <= CL_MEM_OBJECT_IMAGE1D_BUFFER;
}

cl_int clGetImageInfo(cl_mem image, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!is_image(image)) return CL_INVALID_MEM_OBJECT;
    cl_uint type = image->type;
    switch (name) {
    case CL_IMAGE_FORMAT: ANSWER(cl_image_format, image->format);
    case CL_IMAGE_ELEMENT_SIZE: ANSWER(size_t, image->element);
    case CL_IMAGE_ROW_PITCH: ANSWER(size_t, image->row_pitch);
    case CL_IMAGE_SLICE_PITCH: ANSWER(size_t, image->slice_pitch);
    case CL_IMAGE_WIDTH: ANSWER(size_t, image->width);
    case CL_IMAGE_HEIGHT: ANSWER(size_t, is_flat(type) ? image->height : 0);
    case CL_IMAGE_DEPTH: ANSWER(size_t, type == CL_MEM_OBJECT_IMAGE3D ? image->depth : 0);
    case CL_IMAGE_ARRAY_SIZE: ANSWER(size_t, is_array(type) ? image->layers : 0);
    case CL_IMAGE_BUFFER: ANSWER(cl_mem, image->parent);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES: ANSWER(cl_uint, 0);
    default: return CL_INVALID_VALUE;
    }
}

/* Regions of images. The second coordinate of an array of rows is the layer. */

size_t image_y_pitch(const struct memory *image) {
    return image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? image->slice_pitch : image->row_pitch;
}

size_t image_place(const struct memory *image, const size_t *origin) {
    return origin[0] * image->element + origin[1] * image_y_pitch(image) + origin[2] * image->slice_pitch;
}

cl_int image_check(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_mem image) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!is_image(image)) return CL_INVALID_MEM_OBJECT;
    return image->context == queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

cl_int image_check_region(const struct memory *image, const size_t *origin, const size_t *region) {
    size_t layers = image->layers * image->depth;
    size_t limits[3] = {image->width, image->height, layers};
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
        limits[1] = image->layers;
        limits[2] = 1;
    }
    if (!origin || !region) return CL_INVALID_VALUE;
    for (int d = 0; d < 3; d++)
        if (!region[d] || origin[d] > limits[d] || region[d] > limits[d] - origin[d]) return CL_INVALID_VALUE;
    return CL_SUCCESS;
}

static cl_int transfer(cl_command_queue queue, cl_mem image, bool reads, cl_bool blocking, const size_t *origin,
                       const size_t *region, size_t row_pitch, size_t slice_pitch, void *host, cl_uint count,
                       const cl_event *waits, cl_event *event) {
    cl_int wrong = image_check(queue, count, waits, image);
    if (!wrong) wrong = image_check_region(image, origin, region);
    if (wrong) return wrong;
    size_t row = region[0] * image->element;
    if (!host || (row_pitch && row_pitch < row)) return CL_INVALID_VALUE;
    if (!row_pitch) row_pitch = row;
    bool rows = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (slice_pitch && slice_pitch < row_pitch * (rows ? 1 : region[1])) return CL_INVALID_VALUE;
    if (!slice_pitch) slice_pitch = row_pitch * (rows ? 1 : region[1]);
    wrong = check_host(image, reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
    if (wrong) return wrong;
    char *pixels = image->data + image_place(image, origin);
    size_t host_y = rows ? slice_pitch : row_pitch;
    struct copy copy = {.bytes = {row, region[1], region[2]}};
    if (reads) {
        copy.to = host, copy.to_row = host_y, copy.to_slice = slice_pitch;
        copy.from = pixels, copy.from_row = image_y_pitch(image), copy.from_slice = image->slice_pitch;
    } else {
        copy.from = host, copy.from_row = host_y, copy.from_slice = slice_pitch;
        copy.to = pixels, copy.to_row = image_y_pitch(image), copy.to_slice = image->slice_pitch;
    }
    cl_uint type = reads ? CL_COMMAND_READ_IMAGE : CL_COMMAND_WRITE_IMAGE;
    return submit_copy(queue, type, &copy, image, NULL, blocking, count, waits, event);
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                          const size_t *region, size_t row_pitch, size_t slice_pitch, void *host, cl_uint count,
                          const cl_event *waits, cl_event *event) {
    return transfer(queue, image, true, blocking, origin, region, row_pitch, slice_pitch, host, count, waits, event);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                           const size_t *region, size_t row_pitch, size_t slice_pitch, const void *host,
                           cl_uint count, const cl_event *waits, cl_event *event) {
    return transfer(queue, image, false, blocking, origin, region, row_pitch, slice_pitch, (void *)host, count, waits,
                    event);
}

static bool regions_meet(const size_t *a, const size_t *b, const size_t *region) {
    for (int d = 0; d < 3; d++)
        if (a[d] >= b[d] + region[d] || b[d] >= a[d] + region[d]) return false;
    return true;
}

cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                          const size_t *to_origin, const size_t *region, cl_uint count, const cl_event *waits,
                          cl_event *event) {
    cl_int wrong = image_check(queue, count, waits, from);
    if (!wrong) wrong = image_check(queue, count, waits, to);
    if (wrong) return wrong;
    if (memcmp(&from->format, &to->format, sizeof from->format)) return CL_IMAGE_FORMAT_MISMATCH;
    wrong = image_check_region(from, from_origin, region);
    if (!wrong) wrong = image_check_region(to, to_origin, region);
    if (wrong) return wrong;
    if (from == to && regions_meet(from_origin, to_origin, region)) return CL_MEM_COPY_OVERLAP;
    struct copy copy = {
        .to = to->data + image_place(to, to_origin), .from = from->data + image_place(from, from_origin),
        .bytes = {region[0] * from->element, region[1], region[2]}, .to_row = image_y_pitch(to),
        .to_slice = to->slice_pitch, .from_row = image_y_pitch(from), .from_slice = from->slice_pitch,
    };
    /* The layers of an array of rows are in the second coordinate, those of other arrays in the third. */
    bool from_rows = from->type == CL_MEM_OBJECT_IMAGE1D_ARRAY, to_rows = to->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (from_rows != to_rows && region[1] > 1 && region[2] > 1) return CL_INVALID_VALUE;
    return submit_copy(queue, CL_COMMAND_COPY_IMAGE, &copy, from, to, false, count, waits, event);
}

static cl_int between(cl_command_queue queue, cl_mem image, cl_mem buffer, bool to_buffer, const size_t *origin,
                      const size_t *region, size_t offset, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = image_check(queue, count, waits, image);
    if (wrong) return wrong;
    if (!object_is(buffer, MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER) return CL_INVALID_MEM_OBJECT;
    if (buffer->context != queue->context) return CL_INVALID_CONTEXT;
    wrong = image_check_region(image, origin, region);
    if (wrong) return wrong;
    size_t row = region[0] * image->element, bytes = row * region[1] * region[2];
    if (offset > buffer->size || bytes > buffer->size - offset) return CL_INVALID_VALUE;
    char *pixels = image->data + image_place(image, origin), *data = buffer->data + offset;
    struct copy copy = {.bytes = {row, region[1], region[2]}};
    if (to_buffer) {
        copy.to = data, copy.to_row = row, copy.to_slice = row * region[1];
        copy.from = pixels, copy.from_row = image_y_pitch(image), copy.from_slice = image->slice_pitch;
    } else {
        copy.from = data, copy.from_row = row, copy.from_slice = row * region[1];
        copy.to = pixels, copy.to_row = image_y_pitch(image), copy.to_slice = image->slice_pitch;
    }
    cl_uint type = to_buffer ? CL_COMMAND_COPY_IMAGE_TO_BUFFER : CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    return submit_copy(queue, type, &copy, image, buffer, false, count, waits, event);
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin,
                                  const size_t *region, size_t offset, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    return between(queue, from, to, true, origin, region, offset, count, waits, event);
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin,
                                  const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
    return between(queue, to, from, false, origin, region, offset, count, waits, event);
}

void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_bitfield flags,
                        const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                        cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
    cl_int wrong = image_check(queue, count, waits, image);
    if (!wrong) wrong = image_check_region(image, origin, region);
    if (wrong) FAIL(wrong);
    if (!row_pitch || (image->slice_pitch && !slice_pitch)) FAIL(CL_INVALID_VALUE);
    wrong = map_flags(image, flags);
    if (wrong) FAIL(wrong);
    *row_pitch = image->row_pitch;
    if (slice_pitch) *slice_pitch = image->slice_pitch;
    return map_enqueue(queue, image, CL_COMMAND_MAP_IMAGE, image->data + image_place(image, origin), blocking, count,
                       waits, event, error);
}
