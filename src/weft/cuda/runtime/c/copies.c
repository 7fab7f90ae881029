/* Copies and fills: of bytes, rows, boxes, and variables of programs. */

#include "runtime.h"

#include <string.h>

struct transfer {
    char *to;
    const char *from;
    size_t width, height, depth, to_pitch, from_pitch, to_slice, from_slice;
    /* Filled with instead, if there is nothing to be copied from. */
    int value;
};

static void run_transfer(struct task *task) {
    const struct transfer *t = (const struct transfer *)task->payload;
    for (size_t z = 0; z < t->depth; z++)
        for (size_t y = 0; y < t->height; y++) {
            char *to = t->to + z * t->to_slice + y * t->to_pitch;
            if (t->from)
                memmove(to, t->from + z * t->from_slice + y * t->from_pitch, t->width);
            else
                memset(to, t->value, t->width);
        }
}

/* From its first byte to its last one. */
static size_t reach(const struct transfer *t, size_t pitch, size_t slice) {
    return (t->depth - 1) * slice + (t->height - 1) * pitch + t->width;
}

/* Whether bytes lie within a block of the device's memory, or in memory that only the host knows. */
static bool is_within(const char *data, size_t bytes, bool on_device) {
    struct block block;
    if (block_find(data, &block)) return block.kind == HOST_MEMORY || bytes <= (size_t)(block.data + block.bytes - data);
    return !on_device;
}

static cudaError_t submit(struct transfer transfer, int kind, bool waits, void *stream) {
    if (kind < HOST_TO_HOST || kind > BY_ADDRESS) return cudaErrorInvalidMemcpyDirection;
    if (!stream_of(stream)) return cudaErrorInvalidResourceHandle;
    if (!transfer.width || !transfer.height || !transfer.depth) return cudaSuccess;
    bool to_device = kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
    bool from_device = kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
    if (!transfer.to || !is_within(transfer.to, reach(&transfer, transfer.to_pitch, transfer.to_slice), to_device))
        return cudaErrorInvalidValue;
    if (transfer.from &&
        !is_within(transfer.from, reach(&transfer, transfer.from_pitch, transfer.from_slice), from_device))
        return cudaErrorInvalidValue;
    struct task *task = task_make(sizeof transfer, run_transfer);
    if (!task) return cudaErrorMemoryAllocation;
    memcpy(task->payload, &transfer, sizeof transfer);
    /* Memory of the host that nobody has made known may be gone, or read, when the call is over. */
    struct block block;
    waits |= !block_find(transfer.to, &block) || (transfer.from && !block_find(transfer.from, &block));
    if (stream_of(stream)->captured) waits = false;
    cudaError_t error = task_submit(task, stream);
    if (!error && waits) queue_finish();
    return error;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, int kind, bool waits, void *stream) {
    if (bytes && !from) return cudaErrorInvalidValue;
    struct transfer transfer = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
    return submit(transfer, kind, waits, stream);
}

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                           int kind, bool waits, void *stream) {
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    if (width && height && !from) return cudaErrorInvalidValue;
    struct transfer transfer = {to, from, width, height, 1, to_pitch, from_pitch, 0, 0, 0};
    return submit(transfer, kind, waits, stream);
}

static cudaError_t copy_3d(const struct copy_3d *p, bool waits, void *stream) {
    if (!p) return cudaErrorInvalidValue;
    if (p->from_array || p->to_array) return say("arrays are for textures, and are not there"), cudaErrorNotSupported;
    if (!p->from.data || !p->to.data) return cudaErrorInvalidValue;
    if (p->extent.width > p->to.pitch || p->extent.width > p->from.pitch) return cudaErrorInvalidPitchValue;
    size_t to_slice = p->to.pitch * p->to.height, from_slice = p->from.pitch * p->from.height;
    const struct position *to = &p->to_position, *from = &p->from_position;
    struct transfer transfer = {
        p->to.data + to->z * to_slice + to->y * p->to.pitch + to->x,
        p->from.data + from->z * from_slice + from->y * p->from.pitch + from->x,
        p->extent.width, p->extent.height, p->extent.depth, p->to.pitch, p->from.pitch, to_slice, from_slice, 0,
    };
    return submit(transfer, p->kind, waits, stream);
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
    return report(copy(to, from, bytes, kind, true, NULL));
}
API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
    return report(copy(to, from, bytes, kind, false, stream));
}
API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, int kind) {
    return report(copy_2d(to, to_pitch, from, from_pitch, width, height, kind, true, NULL));
}
API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                  size_t height, int kind, void *stream) {
    return report(copy_2d(to, to_pitch, from, from_pitch, width, height, kind, false, stream));
}
API cudaError_t cudaMemcpy3D(const struct copy_3d *parameters) { return report(copy_3d(parameters, true, NULL)); }
API cudaError_t cudaMemcpy3DAsync(const struct copy_3d *parameters, void *stream) {
    return report(copy_3d(parameters, false, stream));
}

API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    if (to_device || from_device) return report(cudaErrorInvalidDevice);
    return report(copy(to, from, bytes, DEVICE_TO_DEVICE, true, NULL));
}
API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                    void *stream) {
    if (to_device || from_device) return report(cudaErrorInvalidDevice);
    return report(copy(to, from, bytes, DEVICE_TO_DEVICE, false, stream));
}

/* Variables of programs. */

static cudaError_t place_in(const void *symbol, size_t bytes, size_t offset, char **data) {
    size_t size;
    cudaError_t error = variable_find(symbol, data, &size);
    if (error) return error;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    *data += offset;
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind, bool waits,
                             void *stream) {
    char *data;
    cudaError_t error = place_in(symbol, bytes, offset, &data);
    if (!error && (kind == HOST_TO_HOST || kind == DEVICE_TO_HOST)) error = cudaErrorInvalidMemcpyDirection;
    return error ? error : copy(data, from, bytes, kind, waits, stream);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind, bool waits,
                               void *stream) {
    char *data;
    cudaError_t error = place_in(symbol, bytes, offset, &data);
    if (!error && (kind == HOST_TO_HOST || kind == HOST_TO_DEVICE)) error = cudaErrorInvalidMemcpyDirection;
    return error ? error : copy(to, data, bytes, kind, waits, stream);
}

API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
    return report(to_symbol(symbol, from, bytes, offset, kind, true, NULL));
}
API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                                        void *stream) {
    return report(to_symbol(symbol, from, bytes, offset, kind, false, stream));
}
API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
    return report(from_symbol(to, symbol, bytes, offset, kind, true, NULL));
}
API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                                          void *stream) {
    return report(from_symbol(to, symbol, bytes, offset, kind, false, stream));
}

API cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    size_t size;
    if (!address) return report(cudaErrorInvalidValue);
    return report(variable_find(symbol, (char **)address, &size));
}
API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    char *data;
    if (!size) return report(cudaErrorInvalidValue);
    return report(variable_find(symbol, &data, size));
}

/* Fills. */

static cudaError_t fill(void *to, int value, size_t bytes, void *stream) {
    struct transfer transfer = {.to = to, .value = value, .width = bytes, .height = 1, .depth = 1};
    return submit(transfer, DEVICE_TO_DEVICE, false, stream);
}

static cudaError_t fill_2d(void *to, size_t pitch, int value, size_t width, size_t height, void *stream) {
    if (height > 1 && width > pitch) return cudaErrorInvalidValue;
    struct transfer transfer = {
        .to = to, .value = value, .width = width, .height = height, .depth = 1, .to_pitch = pitch};
    return submit(transfer, DEVICE_TO_DEVICE, false, stream);
}

static cudaError_t fill_3d(struct pitched to, int value, struct extent extent, void *stream) {
    struct transfer transfer = {.to = to.data, .value = value, .width = extent.width, .height = extent.height,
                                .depth = extent.depth, .to_pitch = to.pitch, .to_slice = to.pitch * to.height};
    return submit(transfer, DEVICE_TO_DEVICE, false, stream);
}

API cudaError_t cudaMemset(void *to, int value, size_t bytes) { return report(fill(to, value, bytes, NULL)); }
API cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
    return report(fill(to, value, bytes, stream));
}
API cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return report(fill_2d(to, pitch, value, width, height, NULL));
}
API cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream) {
    return report(fill_2d(to, pitch, value, width, height, stream));
}
API cudaError_t cudaMemset3D(struct pitched to, int value, struct extent extent) {
    return report(fill_3d(to, value, extent, NULL));
}
API cudaError_t cudaMemset3DAsync(struct pitched to, int value, struct extent extent, void *stream) {
    return report(fill_3d(to, value, extent, stream));
}
