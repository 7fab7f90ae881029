/* Filling images with a colour: four numbers that become a pixel of the image's format (OpenCL C, §8.3). */

#include "transfers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const unsigned char *color_channels(cl_uint order, size_t *count) {
    static const struct {
        cl_uint order;
        unsigned char count, channels[4];
    } orders[] = {
        {CL_R, 1, {0}}, {CL_A, 1, {3}}, {CL_INTENSITY, 1, {0}}, {CL_LUMINANCE, 1, {0}}, {CL_DEPTH, 1, {0}},
        {CL_RG, 2, {0, 1}}, {CL_RA, 2, {0, 3}}, {CL_RGBA, 4, {0, 1, 2, 3}}, {CL_BGRA, 4, {2, 1, 0, 3}},
        {CL_ARGB, 4, {3, 0, 1, 2}}, {CL_ABGR, 4, {3, 2, 1, 0}}, {CL_SRGBA, 4, {0, 1, 2, 3}},
        {CL_SBGRA, 4, {2, 1, 0, 3}},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i].order == order) {
            *count = orders[i].count;
            return orders[i].channels;
        }
    *count = 0;
    return NULL;
}

/* To the nearest of the type's numbers, ties to even. */
static uint16_t half_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x38800000) {
        /* Denormal: in units of 2^-24, exact as a product with a power of two. */
        float units;
        memcpy(&units, &magnitude, sizeof units);
        return (uint16_t)(sign | (uint32_t)nearbyintf(units * 0x1p24f));
    }
    uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

static float clamped(float value, float low, float high) {
    return value > low ? (value < high ? value : high) : low;
}

static long scaled(float value, float low, float scale) {
    return isnan(value) ? 0 : lrintf(clamped(value, low, 1) * scale);
}

static float gamma_of(float linear) {
    float value = isnan(linear) ? 0 : clamped(linear, 0, 1);
    return value < 0.0031308f ? 12.92f * value : 1.055f * powf(value, 1 / 2.4f) - 0.055f;
}

static long limited(long value, long low, long high) { return value < low ? low : value > high ? high : value; }

/* One channel; `color` has four floats or four integers, as the channel's type says. */
static void put_channel(char *at, cl_uint type, const void *color, unsigned index, bool gamma) {
    float number = ((const float *)color)[index];
    int32_t integer = ((const int32_t *)color)[index];
    uint32_t natural = ((const uint32_t *)color)[index];
    if (gamma && index < 3) number = gamma_of(number);
    long value = 0;
    size_t bytes = 4;
    uint32_t word;
    switch (type) {
    case CL_SNORM_INT8: value = scaled(number, -1, 127), bytes = 1; break;
    case CL_SNORM_INT16: value = scaled(number, -1, 32767), bytes = 2; break;
    case CL_UNORM_INT8: value = scaled(number, 0, 255), bytes = 1; break;
    case CL_UNORM_INT16: value = scaled(number, 0, 65535), bytes = 2; break;
    case CL_SIGNED_INT8: value = limited(integer, -128, 127), bytes = 1; break;
    case CL_SIGNED_INT16: value = limited(integer, -32768, 32767), bytes = 2; break;
    case CL_SIGNED_INT32: value = integer; break;
    case CL_UNSIGNED_INT8: value = limited(natural, 0, 255), bytes = 1; break;
    case CL_UNSIGNED_INT16: value = limited(natural, 0, 65535), bytes = 2; break;
    case CL_UNSIGNED_INT32: value = natural; break;
    case CL_HALF_FLOAT: value = half_of(number), bytes = 2; break;
    default: memcpy(&value, &number, sizeof number);
    }
    word = (uint32_t)value;
    memcpy(at, &word, bytes);
}

static size_t make_pixel(const cl_image_format *format, const void *color, char *pixel) {
    size_t count, bytes = image_element(format);
    const unsigned char *channels = color_channels(format->channel_order, &count);
    bool gamma = format->channel_order == CL_SRGBA || format->channel_order == CL_SBGRA;
    for (size_t i = 0; i < count; i++)
        put_channel(pixel + i * (bytes / count), format->channel_type, color, channels[i], gamma);
    return bytes;
}

struct fill_box {
    char *to, pixel[16];
    size_t element, region[3], y_pitch, z_pitch;
};

static cl_int run_fill_box(struct command *command) {
    const struct fill_box *fill = command->payload;
    for (size_t z = 0; z < fill->region[2]; z++)
        for (size_t y = 0; y < fill->region[1]; y++)
            for (size_t x = 0; x < fill->region[0]; x++)
                memcpy(fill->to + z * fill->z_pitch + y * fill->y_pitch + x * fill->element, fill->pixel,
                       fill->element);
    return CL_COMPLETE;
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
                          const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = image_check(queue, count, waits, image);
    if (wrong) return wrong;
    if (!color) return CL_INVALID_VALUE;
    wrong = image_check_region(image, origin, region);
    if (wrong) return wrong;
    struct command *command = command_make(queue, CL_COMMAND_FILL_IMAGE, sizeof(struct fill_box), run_fill_box);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    struct fill_box *fill = command->payload;
    fill->to = image->data + image_place(image, origin);
    fill->element = make_pixel(&image->format, color, fill->pixel);
    memcpy(fill->region, region, sizeof fill->region);
    fill->y_pitch = image_y_pitch(image);
    fill->z_pitch = image->slice_pitch;
    command_use(command, image);
    return command_submit(command, count, waits, false, event);
}
