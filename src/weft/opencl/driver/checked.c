/* WEFT_OPENCL_DEBUG=1: launches on the compiler's checking interpreter (weft.opencl.checked_launch).

   All memory that a kernel may use goes there, under its addresses here, and comes back with what the kernel has
   written. */

#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAN, FOUND, NOT_CHECKED };

struct region {
    char *data;
    size_t bytes;
    const char *name;
};

struct regions {
    struct region *list;
    size_t count;
};

bool launches_are_checked(void) {
    const char *wish = getenv("WEFT_OPENCL_DEBUG");
    return wish && strcmp(wish, "") && strcmp(wish, "0");
}

static void add(struct regions *regions, void *data, size_t bytes, const char *name) {
    if (data && bytes) regions->list[regions->count++] = (struct region){data, bytes, name};
}

static size_t svm_blocks(const struct context *context) {
    size_t count = 0;
    for (const struct svm_block *block = context->svm; block; block = block->next) count++;
    return count;
}

/* Slots tell where arguments are that are passed by address. */
static void add_arguments(struct regions *regions, const struct launch *launch) {
    const struct kernel_facts *facts = launch->kernel->facts;
    const int64_t *slot = launch->slots;
    cl_uint memory = 0;
    for (cl_uint i = 0; i < facts->argument_count; i++) {
        const struct argument_facts *type = &facts->arguments[i];
        if (type->passing == PASS_RECORD) add(regions, (void *)*slot, type->size, type->name);
        bool object = type->passing == PASS_BUFFER || type->passing == PASS_IMAGE;
        /* Objects of a launch are in the order of their parameters; other buffers are null, or shared memory. */
        if (object && memory < launch->memory_count) {
            struct memory *held = launch->memories[memory];
            bool image = type->passing == PASS_IMAGE;
            if ((int64_t)(image ? (char *)&held->image : held->data) == *slot) {
                add(regions, held->data, held->size, type->name);
                if (image) add(regions, &held->image, sizeof held->image, type->name);
                memory++;
            }
        }
        slot += type->passing == PASS_VALUE ? type->lanes : 1;
    }
}

static cl_int understand(struct message *reply, const struct regions *regions, const char *kernel) {
    cl_int went = (cl_int)message_number(reply);
    char *text = message_text(reply), *printed = message_text(reply);
    if (!reply->failed && went != NOT_CHECKED) fputs(printed, stdout);
    for (size_t i = 0; i < regions->count && went != NOT_CHECKED; i++) {
        struct buffer data = message_field(reply);
        if (data.size == regions->list[i].bytes) memcpy(regions->list[i].data, data.data, data.size);
    }
    if (reply->failed) went = NOT_CHECKED;
    if (went != CLEAN) {
        const char *what = went == FOUND ? "" : "is not checked: ";
        fprintf(stderr, "weft: %s: %s%s\n", kernel, what, text && *text ? text : "the compiler does not answer");
    }
    fflush(stdout);
    free(text);
    free(printed);
    return went;
}

bool launch_check(struct launch *launch, const struct part *part, cl_int *status) {
    struct kernel *kernel = launch->kernel;
    struct program *program = kernel->program;
    size_t room = 2 * kernel->facts->argument_count + svm_blocks(kernel->context) + 1;
    struct regions regions = {calloc(room, sizeof *regions.list), 0};
    if (!regions.list) return false;
    add_arguments(&regions, launch);
    add(&regions, program->scope, program->scope_bytes, "program scope");
    for (struct svm_block *block = kernel->context->svm; block && regions.count < room; block = block->next)
        add(&regions, block->data, block->size, "shared virtual memory");
    struct message request = {0}, reply;
    message_add_text(&request, "check");
    message_add(&request, program->blob.data, program->blob.size);
    message_add_text(&request, kernel->facts->name);
    message_add_number(&request, part->code->placed);
    for (int d = 0; d < 3; d++) message_add_number(&request, (int64_t)part->groups[d]);
    for (int d = 0; d < 3; d++) message_add_number(&request, (int64_t)part->local[d]);
    message_add_number(&request, (int64_t)launch->local_bytes);
    message_add(&request, launch->slots, (launch->argument_slots + HIDDEN_SLOTS) * sizeof *launch->slots);
    for (size_t i = 0; i < regions.count; i++) {
        message_add_number(&request, (int64_t)regions.list[i].data);
        message_add_text(&request, regions.list[i].name);
        message_add(&request, regions.list[i].data, regions.list[i].bytes);
    }
    cl_int went = NOT_CHECKED;
    if (compiler_ask(&request, &reply)) {
        went = understand(&reply, &regions, kernel->facts->name);
        free(reply.data);
    }
    free(request.data);
    free(regions.list);
    *status = went == FOUND ? CL_OUT_OF_RESOURCES : CL_COMPLETE;
    return went != NOT_CHECKED;
}
