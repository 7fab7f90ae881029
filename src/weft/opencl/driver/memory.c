/* Buffers: making them, parts of them, and what they tell of themselves. */

#include "transfers.h"

#include <stdlib.h>
#include <string.h>

/* Of all data; the largest vector has 128 bytes. */
enum { ALIGNMENT = 128 };

char *memory_allocate(size_t bytes) {
    void *data;
    return posix_memalign(&data, bytes >= 1 << 16 ? 4096 : ALIGNMENT, bytes ? bytes : 1) ? NULL : data;
}

static int bits(cl_bitfield flags) { return __builtin_popcountll(flags); }

/* Flags of a buffer or image, with the host's memory. */
cl_int memory_flags(cl_bitfield flags, const void *host) {
    const cl_bitfield kernel = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_bitfield access = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    const cl_bitfield place = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (flags & ~(kernel | access | place | CL_MEM_KERNEL_READ_AND_WRITE)) return CL_INVALID_VALUE;
    if (bits(flags & kernel) > 1 || bits(flags & access) > 1) return CL_INVALID_VALUE;
    if (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) return CL_INVALID_VALUE;
    bool wants = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    return wants != (host != NULL) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

/* Gives a new object its data: the host's, or memory of its own. */
cl_int memory_place(struct memory *memory, void *host) {
    memory->host = memory->flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    if (memory->host) {
        memory->data = host;
        memory->is_svm = svm_find(memory->context, host, memory->size) != NULL;
        return CL_SUCCESS;
    }
    memory->data = memory_allocate(memory->size);
    if (!memory->data) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    memory->owns_data = true;
    if (memory->flags & CL_MEM_COPY_HOST_PTR && memory->type == CL_MEM_OBJECT_BUFFER)
        memcpy(memory->data, host, memory->size);
    return CL_SUCCESS;
}

struct memory *memory_make(struct context *context, cl_uint type, cl_bitfield flags) {
    struct memory *memory = object_make(MEMORY);
    if (!memory) return NULL;
    memory->context = context;
    object_hold(context);
    memory->type = type;
    if (!(flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY))) flags |= CL_MEM_READ_WRITE;
    memory->flags = flags;
    return memory;
}

cl_mem clCreateBufferWithProperties(cl_context context, const cl_properties64 *properties, cl_bitfield flags,
                                    size_t bytes, void *host, cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (properties && properties[0]) FAIL(CL_INVALID_PROPERTY);
    cl_int wrong = memory_flags(flags, host);
    if (wrong == CL_INVALID_VALUE) FAIL(wrong);
    if (!bytes || bytes > memory_bytes() / 2) FAIL(CL_INVALID_BUFFER_SIZE);
    if (wrong) FAIL(wrong);
    struct memory *memory = memory_make(context, CL_MEM_OBJECT_BUFFER, flags);
    if (!memory) FAIL(CL_OUT_OF_HOST_MEMORY);
    memory->size = bytes;
    wrong = memory_place(memory, host);
    if (!wrong) wrong = properties_copy(properties, &memory->property_list, &memory->property_bytes);
    if (wrong) {
        object_release(memory, MEMORY, 0);
        FAIL(wrong);
    }
    if (error) *error = CL_SUCCESS;
    return memory;
}

cl_mem clCreateBuffer(cl_context context, cl_bitfield flags, size_t bytes, void *host, cl_int *error) {
    return clCreateBufferWithProperties(context, NULL, flags, bytes, host, error);
}

/* Flags of a part, which takes over what it does not say; CL_INVALID_VALUE where it allows more than the whole. */
cl_int memory_inherit(cl_bitfield whole, cl_bitfield *flags) {
    const cl_bitfield kernel = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_bitfield access = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    const cl_bitfield place = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (*flags & ~(kernel | access) || bits(*flags & kernel) > 1 || bits(*flags & access) > 1) return CL_INVALID_VALUE;
    if (whole & CL_MEM_WRITE_ONLY && *flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) return CL_INVALID_VALUE;
    if (whole & CL_MEM_READ_ONLY && *flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) return CL_INVALID_VALUE;
    if (whole & CL_MEM_HOST_WRITE_ONLY && *flags & CL_MEM_HOST_READ_ONLY) return CL_INVALID_VALUE;
    if (whole & CL_MEM_HOST_READ_ONLY && *flags & CL_MEM_HOST_WRITE_ONLY) return CL_INVALID_VALUE;
    if (whole & CL_MEM_HOST_NO_ACCESS && *flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY))
        return CL_INVALID_VALUE;
    if (!(*flags & kernel)) *flags |= whole & kernel;
    if (!(*flags & access)) *flags |= whole & access;
    *flags |= whole & place;
    return CL_SUCCESS;
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_bitfield flags, cl_uint type, const void *info, cl_int *error) {
    if (!object_is(buffer, MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER || buffer->parent)
        FAIL(CL_INVALID_MEM_OBJECT);
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !info) FAIL(CL_INVALID_VALUE);
    const cl_buffer_region *region = info;
    if (region->origin > buffer->size || region->size > buffer->size - region->origin) FAIL(CL_INVALID_VALUE);
    if (!region->size) FAIL(CL_INVALID_BUFFER_SIZE);
    cl_int wrong = memory_inherit(buffer->flags, &flags);
    if (wrong) FAIL(wrong);
    if (region->origin % ALIGNMENT) FAIL(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    struct memory *memory = memory_make(buffer->context, CL_MEM_OBJECT_BUFFER, flags);
    if (!memory) FAIL(CL_OUT_OF_HOST_MEMORY);
    memory->parent = buffer;
    object_hold(buffer);
    memory->offset = region->origin;
    memory->size = region->size;
    memory->data = buffer->data + region->origin;
    memory->host = buffer->host ? (char *)buffer->host + region->origin : NULL;
    memory->is_svm = buffer->is_svm;
    if (error) *error = CL_SUCCESS;
    return memory;
}

cl_int clRetainMemObject(cl_mem memory) { return object_retain(memory, MEMORY, CL_INVALID_MEM_OBJECT); }
cl_int clReleaseMemObject(cl_mem memory) { return object_release(memory, MEMORY, CL_INVALID_MEM_OBJECT); }

cl_int clSetMemObjectDestructorCallback(cl_mem memory, object_callback call, void *data) {
    if (!object_is(memory, MEMORY)) return CL_INVALID_MEM_OBJECT;
    return call ? farewell_add(&memory->farewells, call, data) : CL_INVALID_VALUE;
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(memory, MEMORY)) return CL_INVALID_MEM_OBJECT;
    switch (name) {
    case CL_MEM_TYPE: ANSWER(cl_uint, memory->type);
    case CL_MEM_FLAGS: ANSWER(cl_bitfield, memory->flags);
    case CL_MEM_SIZE: ANSWER(size_t, memory->size);
    case CL_MEM_HOST_PTR: ANSWER(void *, memory->host);
    case CL_MEM_MAP_COUNT: ANSWER(cl_uint, memory->map_count);
    case CL_MEM_REFERENCE_COUNT: ANSWER(cl_uint, object_references(memory));
    case CL_MEM_CONTEXT: ANSWER(cl_context, memory->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT: ANSWER(cl_mem, memory->parent);
    case CL_MEM_OFFSET: ANSWER(size_t, memory->offset);
    case CL_MEM_USES_SVM_POINTER: ANSWER(cl_bool, memory->is_svm);
    case CL_MEM_PROPERTIES: return answer(memory->property_list, memory->property_bytes, size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

static void memory_free(void *object) {
    struct memory *memory = object;
    farewells_call(memory->farewells, memory);
    while (memory->mappings) {
        struct mapping *next = memory->mappings->next;
        free(memory->mappings);
        memory->mappings = next;
    }
    if (memory->owns_data) free(memory->data);
    free(memory->property_list);
    object_drop(memory->parent);
    object_drop(memory->context);
}

__attribute__((constructor)) static void prepare(void) { object_on_free(MEMORY, memory_free); }

cl_mem clCreatePipe(cl_context context, cl_bitfield flags, cl_uint packet, cl_uint packets,
                    const cl_properties *properties, cl_int *error) {
    (void)flags, (void)packet, (void)packets, (void)properties;
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    FAIL(CL_INVALID_OPERATION);
}

cl_int clGetPipeInfo(cl_mem pipe, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    (void)pipe, (void)name, (void)size, (void)value, (void)bytes_out;
    return CL_INVALID_MEM_OBJECT;
}
