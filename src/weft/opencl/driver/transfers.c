/* Commands that move bytes between buffers and the host's memory. */

#include "transfers.h"

#include <stdlib.h>
#include <string.h>

static cl_int check_buffer(cl_command_queue queue, cl_mem buffer) {
    if (!object_is(buffer, MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER) return CL_INVALID_MEM_OBJECT;
    return buffer->context == queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

static bool outside(const struct memory *buffer, size_t offset, size_t bytes) {
    return offset > buffer->size || bytes > buffer->size - offset;
}

static cl_int run_copy(struct command *command) {
    const struct copy *copy = command->payload;
    for (size_t z = 0; z < copy->bytes[2]; z++)
        for (size_t y = 0; y < copy->bytes[1]; y++)
            memmove(copy->to + z * copy->to_slice + y * copy->to_row,
                    copy->from + z * copy->from_slice + y * copy->from_row, copy->bytes[0]);
    return CL_COMPLETE;
}

cl_int submit_copy(cl_command_queue queue, cl_uint type, const struct copy *copy, cl_mem first, cl_mem second,
                          bool blocking, cl_uint count, const cl_event *waits, cl_event *event) {
    struct command *command = command_make(queue, type, sizeof *copy, run_copy);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    memcpy(command->payload, copy, sizeof *copy);
    command_use(command, first);
    if (second) command_use(command, second);
    return command_submit(command, count, waits, blocking, event);
}

cl_int check_host(const struct memory *buffer, cl_bitfield forbidden) {
    return buffer->flags & (forbidden | CL_MEM_HOST_NO_ACCESS) ? CL_INVALID_OPERATION : CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                           void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, buffer);
    if (wrong) return wrong;
    if (!host || !bytes || outside(buffer, offset, bytes)) return CL_INVALID_VALUE;
    wrong = check_host(buffer, CL_MEM_HOST_WRITE_ONLY);
    if (wrong) return wrong;
    struct copy copy = {.to = host, .from = buffer->data + offset, .bytes = {bytes, 1, 1}};
    return submit_copy(queue, CL_COMMAND_READ_BUFFER, &copy, buffer, NULL, blocking, count, waits, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                            const void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, buffer);
    if (wrong) return wrong;
    if (!host || !bytes || outside(buffer, offset, bytes)) return CL_INVALID_VALUE;
    wrong = check_host(buffer, CL_MEM_HOST_READ_ONLY);
    if (wrong) return wrong;
    struct copy copy = {.to = buffer->data + offset, .from = host, .bytes = {bytes, 1, 1}};
    return submit_copy(queue, CL_COMMAND_WRITE_BUFFER, &copy, buffer, NULL, blocking, count, waits, event);
}

static bool overlap(const char *a, const char *b, size_t bytes) { return a < b + bytes && b < a + bytes; }

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                           size_t bytes, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, from);
    if (!wrong) wrong = check_buffer(queue, to);
    if (wrong) return wrong;
    if (!bytes || outside(from, from_offset, bytes) || outside(to, to_offset, bytes)) return CL_INVALID_VALUE;
    struct copy copy = {.to = to->data + to_offset, .from = from->data + from_offset, .bytes = {bytes, 1, 1}};
    if (overlap(copy.to, copy.from, bytes)) return CL_MEM_COPY_OVERLAP;
    return submit_copy(queue, CL_COMMAND_COPY_BUFFER, &copy, from, to, false, count, waits, event);
}

/* A box in memory with pitches of its own: where it begins, and how far it reaches. */
struct box {
    size_t start, row, slice, end;
};

/* Adds a product; whether that is more than the sum can be. */
static bool add_product(size_t *sum, size_t a, size_t b) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*sum, product, sum);
}

static cl_int make_box(struct box *box, const size_t *origin, const size_t *region, size_t row, size_t slice) {
    if (!origin || !region || !region[0] || !region[1] || !region[2]) return CL_INVALID_VALUE;
    if (!row) row = region[0];
    size_t least;
    if (row < region[0] || __builtin_mul_overflow(region[1], row, &least)) return CL_INVALID_VALUE;
    if (!slice) slice = least;
    if (slice < least || slice % row) return CL_INVALID_VALUE;
    *box = (struct box){.row = row, .slice = slice, .start = origin[0]};
    if (add_product(&box->start, origin[1], row) || add_product(&box->start, origin[2], slice)) return CL_INVALID_VALUE;
    box->end = box->start;
    bool far = add_product(&box->end, region[1] - 1, row) || add_product(&box->end, region[2] - 1, slice);
    return far || add_product(&box->end, region[0], 1) ? CL_INVALID_VALUE : CL_SUCCESS;
}

static struct copy box_copy(char *to, const struct box *at, const char *from, const struct box *source,
                            const size_t *region) {
    return (struct copy){
        .to = to + at->start, .from = from + source->start, .bytes = {region[0], region[1], region[2]},
        .to_row = at->row, .to_slice = at->slice, .from_row = source->row, .from_slice = source->slice,
    };
}

static cl_int enqueue_rectangle(cl_command_queue queue, cl_mem buffer, bool reads, cl_bool blocking,
                                const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
                                size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
                                void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, buffer);
    if (wrong) return wrong;
    struct box inside, there;
    wrong = make_box(&inside, buffer_origin, region, buffer_row, buffer_slice);
    if (!wrong) wrong = make_box(&there, host_origin, region, host_row, host_slice);
    if (wrong) return wrong;
    if (!host || inside.end > buffer->size) return CL_INVALID_VALUE;
    wrong = check_host(buffer, reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
    if (wrong) return wrong;
    struct copy copy = reads ? box_copy(host, &there, buffer->data, &inside, region)
                             : box_copy(buffer->data, &inside, host, &there, region);
    cl_uint type = reads ? CL_COMMAND_READ_BUFFER_RECT : CL_COMMAND_WRITE_BUFFER_RECT;
    return submit_copy(queue, type, &copy, buffer, NULL, blocking, count, waits, event);
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
                               const size_t *host_origin, const size_t *region, size_t buffer_row,
                               size_t buffer_slice, size_t host_row, size_t host_slice, void *host, cl_uint count,
                               const cl_event *waits, cl_event *event) {
    return enqueue_rectangle(queue, buffer, true, blocking, buffer_origin, host_origin, region, buffer_row,
                             buffer_slice, host_row, host_slice, host, count, waits, event);
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
                                const size_t *host_origin, const size_t *region, size_t buffer_row,
                                size_t buffer_slice, size_t host_row, size_t host_slice, const void *host,
                                cl_uint count, const cl_event *waits, cl_event *event) {
    return enqueue_rectangle(queue, buffer, false, blocking, buffer_origin, host_origin, region, buffer_row,
                             buffer_slice, host_row, host_slice, (void *)host, count, waits, event);
}

static long floor_quotient(long a, long b) { return a / b - (a % b < 0); }

/* Whether two boxes with the same pitches in one buffer share a byte: whether their distance is one of two bytes in a
   box, as slices, rows and bytes. Rows are shorter than their pitch, so each part is one of two numbers. */
static bool boxes_meet(const struct box *a, const struct box *b, const size_t *region) {
    long distance = (long)b->start - (long)a->start, slice = (long)a->slice, row = (long)a->row;
    for (long z = floor_quotient(distance, slice), last_z = z + 1; z <= last_z; z++) {
        long rest = distance - z * slice;
        for (long y = floor_quotient(rest, row), last_y = y + 1; y <= last_y; y++) {
            long x = rest - y * row;
            if (labs(x) < (long)region[0] && labs(y) < (long)region[1] && labs(z) < (long)region[2]) return true;
        }
    }
    return false;
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                               size_t to_row, size_t to_slice, cl_uint count, const cl_event *waits,
                               cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, from);
    if (!wrong) wrong = check_buffer(queue, to);
    if (wrong) return wrong;
    struct box source, target;
    wrong = make_box(&source, from_origin, region, from_row, from_slice);
    if (!wrong) wrong = make_box(&target, to_origin, region, to_row, to_slice);
    if (wrong) return wrong;
    if (source.end > from->size || target.end > to->size) return CL_INVALID_VALUE;
    if (from == to) {
        if (source.row != target.row || source.slice != target.slice) return CL_INVALID_VALUE;
        if (boxes_meet(&source, &target, region)) return CL_MEM_COPY_OVERLAP;
    }
    struct copy copy = box_copy(to->data, &target, from->data, &source, region);
    return submit_copy(queue, CL_COMMAND_COPY_BUFFER_RECT, &copy, from, to, false, count, waits, event);
}

/* Fills. The pattern lies behind the record. */
struct fill {
    char *to;
    size_t bytes, pattern;
};

cl_int run_fill(struct command *command) {
    const struct fill *fill = command->payload;
    const char *pattern = (const char *)(fill + 1);
    if (fill->pattern == 1)
        memset(fill->to, *pattern, fill->bytes);
    else
        for (size_t i = 0; i < fill->bytes; i += fill->pattern) memcpy(fill->to + i, pattern, fill->pattern);
    return CL_COMPLETE;
}

struct command *fill_command(cl_command_queue queue, cl_uint type, void *to, const void *pattern,
                             size_t pattern_bytes, size_t bytes) {
    struct command *command = command_make(queue, type, sizeof(struct fill) + pattern_bytes, run_fill);
    if (!command) return NULL;
    struct fill *fill = command->payload;
    *fill = (struct fill){to, bytes, pattern_bytes};
    memcpy(fill + 1, pattern, pattern_bytes);
    return command;
}

bool fill_pattern_wrong(const void *pattern, size_t bytes) {
    return !pattern || !bytes || bytes > 128 || bytes & (bytes - 1);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes,
                           size_t offset, size_t bytes, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, buffer);
    if (wrong) return wrong;
    if (fill_pattern_wrong(pattern, pattern_bytes) || offset % pattern_bytes || bytes % pattern_bytes ||
        outside(buffer, offset, bytes))
        return CL_INVALID_VALUE;
    struct command *command =
        fill_command(queue, CL_COMMAND_FILL_BUFFER, buffer->data + offset, pattern, pattern_bytes, bytes);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    command_use(command, buffer);
    return command_submit(command, count, waits, false, event);
}

cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint objects, const cl_mem *list, cl_bitfield flags,
                                  cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!objects || !list || flags & ~(cl_bitfield)(CL_MIGRATE_HOST | CL_MIGRATE_CONTENT_UNDEFINED))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < objects; i++) {
        if (!object_is(list[i], MEMORY)) return CL_INVALID_MEM_OBJECT;
        if (list[i]->context != queue->context) return CL_INVALID_CONTEXT;
    }
    struct command *command = command_make(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, 0, NULL);
    return command ? command_submit(command, count, waits, false, event) : CL_OUT_OF_HOST_MEMORY;
}

/* Mapping: the host sees the data itself. */

static pthread_mutex_t mappings = PTHREAD_MUTEX_INITIALIZER;

void forked_reset_transfers(void) { pthread_mutex_init(&mappings, NULL); }

cl_int mapping_add(struct memory *memory, char *pointer) {
    pthread_mutex_lock(&mappings);
    struct mapping *mapping = memory->mappings;
    while (mapping && mapping->pointer != pointer) mapping = mapping->next;
    if (!mapping && (mapping = calloc(1, sizeof *mapping))) {
        *mapping = (struct mapping){memory->mappings, pointer, 0};
        memory->mappings = mapping;
    }
    if (mapping) {
        mapping->count++;
        memory->map_count++;
    }
    pthread_mutex_unlock(&mappings);
    return mapping ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static bool mapping_remove(struct memory *memory, const void *pointer) {
    pthread_mutex_lock(&mappings);
    struct mapping *mapping = memory->mappings;
    while (mapping && !(mapping->pointer == pointer && mapping->count)) mapping = mapping->next;
    if (mapping) {
        mapping->count--;
        memory->map_count--;
    }
    pthread_mutex_unlock(&mappings);
    return mapping;
}

cl_int map_flags(const struct memory *memory, cl_bitfield flags) {
    if (flags & ~(cl_bitfield)(CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) return CL_INVALID_VALUE;
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE)) return CL_INVALID_VALUE;
    cl_bitfield forbidden = flags & CL_MAP_READ ? CL_MEM_HOST_WRITE_ONLY : 0;
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) forbidden |= CL_MEM_HOST_READ_ONLY;
    return forbidden ? check_host(memory, forbidden) : CL_SUCCESS;
}

/* Enqueues the command of a mapping that is at `pointer`. */
void *map_enqueue(cl_command_queue queue, cl_mem memory, cl_uint type, char *pointer, cl_bool blocking, cl_uint count,
                  const cl_event *waits, cl_event *event, cl_int *error) {
    struct command *command = command_make(queue, type, 0, NULL);
    if (!command) FAIL(CL_OUT_OF_HOST_MEMORY);
    if (mapping_add(memory, pointer)) {
        command_abandon(command);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    command_use(command, memory);
    cl_int status = command_submit(command, count, waits, blocking, event);
    if (status) {
        mapping_remove(memory, pointer);
        FAIL(status);
    }
    if (error) *error = CL_SUCCESS;
    return pointer;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_bitfield flags, size_t offset,
                         size_t bytes, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
    cl_int wrong = command_check(queue, count, waits);
    if (!wrong) wrong = check_buffer(queue, buffer);
    if (wrong) FAIL(wrong);
    if (!bytes || outside(buffer, offset, bytes)) FAIL(CL_INVALID_VALUE);
    wrong = map_flags(buffer, flags);
    if (wrong) FAIL(wrong);
    return map_enqueue(queue, buffer, CL_COMMAND_MAP_BUFFER, buffer->data + offset, blocking, count, waits, event,
                       error);
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *pointer, cl_uint count,
                               const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!object_is(memory, MEMORY)) return CL_INVALID_MEM_OBJECT;
    if (memory->context != queue->context) return CL_INVALID_CONTEXT;
    if (!pointer || !mapping_remove(memory, pointer)) return CL_INVALID_VALUE;
    struct command *command = command_make(queue, CL_COMMAND_UNMAP_MEM_OBJECT, 0, NULL);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    command_use(command, memory);
    return command_submit(command, count, waits, false, event);
}
