/* Functions of the host as commands. */

#include "objects.h"

#include <stdlib.h>
#include <string.h>

struct native {
    void (*call)(void *);
    size_t bytes;
    cl_uint memory_count;
    struct memory **memories;
};

static cl_int run_native(struct command *command) {
    struct native *native = command->payload;
    native->call(native->bytes ? native + 1 : NULL);
    return CL_COMPLETE;
}

static void drop_native(struct command *command) {
    struct native *native = command->payload;
    for (cl_uint i = 0; i < native->memory_count; i++) object_drop(native->memories[i]);
    free(native->memories);
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void (*call)(void *), void *arguments, size_t bytes,
                             cl_uint memories, const cl_mem *list, const void **places, cl_uint count,
                             const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    if (!call || !arguments != !bytes || (!arguments && memories) || !memories != !list || !memories != !places)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < memories; i++) {
        size_t place = (size_t)((const char *)places[i] - (const char *)arguments);
        if (list[i] && !object_is(list[i], MEMORY)) return CL_INVALID_MEM_OBJECT;
        if (bytes < sizeof(char *) || place > bytes - sizeof(char *)) return CL_INVALID_VALUE;
    }
    struct command *command = command_make(queue, CL_COMMAND_NATIVE_KERNEL, sizeof(struct native) + bytes, run_native);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    struct native *native = command->payload;
    *native = (struct native){.call = call, .bytes = bytes, .memories = calloc(memories + 1, sizeof *list)};
    command->drop = drop_native;
    if (!native->memories) {
        command_abandon(command);
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (bytes) memcpy(native + 1, arguments, bytes);
    for (cl_uint i = 0; i < memories; i++) {
        char *data = list[i] ? list[i]->data : NULL;
        memcpy((char *)(native + 1) + ((const char *)places[i] - (const char *)arguments), &data, sizeof data);
        if (!list[i]) continue;
        object_hold(list[i]);
        native->memories[native->memory_count++] = list[i];
    }
    return command_submit(command, count, waits, false, event);
}
