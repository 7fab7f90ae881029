/* Shared virtual memory: the host and kernels see the same addresses anyway. */

#include "transfers.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void forked_reset_svm(void) { pthread_mutex_init(&lock, NULL); }

/* The block that holds some bytes. */
struct svm_block *svm_find(struct context *context, const void *pointer, size_t bytes) {
    pthread_mutex_lock(&lock);
    struct svm_block *block = context->svm;
    const char *at = pointer;
    while (block && !(at >= block->data && at < block->data + block->size &&
                      bytes <= (size_t)(block->data + block->size - at)))
        block = block->next;
    pthread_mutex_unlock(&lock);
    return block;
}

void *clSVMAlloc(cl_context context, cl_bitfield flags, size_t bytes, cl_uint alignment) {
    const cl_bitfield kernel = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    if (!object_is(context, CONTEXT) || !bytes || bytes > memory_bytes() / 2) return NULL;
    if (flags & ~(kernel | CL_MEM_SVM_FINE_GRAIN | CL_MEM_SVM_ATOMICS)) return NULL;
    if (__builtin_popcountll(flags & kernel) > 1) return NULL;
    if (flags & CL_MEM_SVM_ATOMICS && !(flags & CL_MEM_SVM_FINE_GRAIN)) return NULL;
    if (alignment & (alignment - 1) || alignment > 128) return NULL;
    struct svm_block *block = malloc(sizeof *block);
    if (!block) return NULL;
    *block = (struct svm_block){.data = memory_allocate(bytes), .size = bytes, .flags = flags};
    if (!block->data) {
        free(block);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    block->next = context->svm;
    context->svm = block;
    pthread_mutex_unlock(&lock);
    return block->data;
}

void clSVMFree(cl_context context, void *pointer) {
    if (!object_is(context, CONTEXT) || !pointer) return;
    pthread_mutex_lock(&lock);
    struct svm_block **at = &context->svm;
    while (*at && (*at)->data != pointer) at = &(*at)->next;
    struct svm_block *block = *at;
    if (block) *at = block->next;
    pthread_mutex_unlock(&lock);
    if (block) {
        free(block->data);
        free(block);
    }
}

struct release {
    void (*call)(cl_command_queue, cl_uint, void **, void *);
    void *data;
    cl_uint count;
    void *pointers[];
};

static cl_int run_release(struct command *command) {
    struct release *release = command->payload;
    if (release->call)
        release->call(command->queue, release->count, release->pointers, release->data);
    else
        for (cl_uint i = 0; i < release->count; i++) clSVMFree(command->queue->context, release->pointers[i]);
    return CL_COMPLETE;
}

cl_int clEnqueueSVMFree(cl_command_queue queue, cl_uint pointers, void *list[],
                        void (*call)(cl_command_queue, cl_uint, void **, void *), void *data, cl_uint count,
                        const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!pointers != !list) return CL_INVALID_VALUE;
    size_t bytes = pointers * sizeof *list;
    struct command *command = command_make(queue, CL_COMMAND_SVM_FREE, sizeof(struct release) + bytes, run_release);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    struct release *release = command->payload;
    *release = (struct release){.call = call, .data = data, .count = pointers};
    if (bytes) memcpy(release->pointers, list, bytes);
    return command_submit(command, count, waits, false, event);
}

struct move {
    char *to;
    const char *from;
    size_t bytes;
};

static cl_int run_move(struct command *command) {
    const struct move *move = command->payload;
    memcpy(move->to, move->from, move->bytes);
    return CL_COMPLETE;
}

cl_int clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,
                          cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    struct move move = {to, from, bytes};
    if (bytes && (!to || !from)) return CL_INVALID_VALUE;
    if (move.to < move.from + bytes && move.from < move.to + bytes) return CL_MEM_COPY_OVERLAP;
    struct command *command = command_make(queue, CL_COMMAND_SVM_MEMCPY, sizeof move, run_move);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    memcpy(command->payload, &move, sizeof move);
    return command_submit(command, count, waits, blocking, event);
}

cl_int clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_bytes, size_t bytes,
                           cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!to || fill_pattern_wrong(pattern, pattern_bytes) || (uintptr_t)to % pattern_bytes || bytes % pattern_bytes)
        return CL_INVALID_VALUE;
    struct command *command = fill_command(queue, CL_COMMAND_SVM_MEMFILL, to, pattern, pattern_bytes, bytes);
    return command ? command_submit(command, count, waits, false, event) : CL_OUT_OF_HOST_MEMORY;
}

static cl_int enqueue_nothing(cl_command_queue queue, cl_uint type, bool blocking, cl_uint count,
                              const cl_event *waits, cl_event *event) {
    struct command *command = command_make(queue, type, 0, NULL);
    return command ? command_submit(command, count, waits, blocking, event) : CL_OUT_OF_HOST_MEMORY;
}

cl_int clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_bitfield flags, void *pointer, size_t bytes,
                       cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!pointer || !bytes || flags & ~(cl_bitfield)7) return CL_INVALID_VALUE;
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE)) return CL_INVALID_VALUE;
    return enqueue_nothing(queue, CL_COMMAND_SVM_MAP, blocking, count, waits, event);
}

cl_int clEnqueueSVMUnmap(cl_command_queue queue, void *pointer, cl_uint count, const cl_event *waits,
                         cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!pointer) return CL_INVALID_VALUE;
    return enqueue_nothing(queue, CL_COMMAND_SVM_UNMAP, false, count, waits, event);
}

cl_int clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint pointers, const void **list, const size_t *sizes,
                              cl_bitfield flags, cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!pointers || !list || flags & ~(cl_bitfield)(CL_MIGRATE_HOST | CL_MIGRATE_CONTENT_UNDEFINED))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < pointers; i++)
        if (!svm_find(queue->context, list[i], sizes ? sizes[i] : 0)) return CL_INVALID_VALUE;
    return enqueue_nothing(queue, CL_COMMAND_SVM_MIGRATE_MEM, false, count, waits, event);
}
