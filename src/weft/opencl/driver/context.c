/* Contexts. */

#include "objects.h"

#include <stdlib.h>
#include <string.h>

enum { CL_CONTEXT_PLATFORM_PROPERTY = CL_CONTEXT_PLATFORM, CL_INTEROP_PROPERTY = CL_CONTEXT_INTEROP_USER_SYNC };

static cl_int check_properties(const cl_properties *list, size_t *bytes) {
    *bytes = 0;
    if (!list) return CL_SUCCESS;
    bool seen[2] = {false, false};
    size_t i = 0;
    for (; list[i]; i += 2) {
        bool interop = list[i] == CL_INTEROP_PROPERTY;
        if (list[i] != CL_CONTEXT_PLATFORM_PROPERTY && !interop) return CL_INVALID_PROPERTY;
        if (seen[interop]) return CL_INVALID_PROPERTY;
        seen[interop] = true;
        if (!interop && list[i + 1] != (cl_properties)the_platform()) return CL_INVALID_PLATFORM;
        if (interop && list[i + 1] != CL_FALSE && list[i + 1] != CL_TRUE) return CL_INVALID_PROPERTY;
    }
    *bytes = (i + 1) * sizeof *list;
    return CL_SUCCESS;
}

cl_context clCreateContext(const cl_properties *properties, cl_uint count, const cl_device_id *devices,
                           void (*notify)(const char *, const void *, size_t, void *), void *data, cl_int *error) {
    size_t bytes;
    cl_int wrong = check_properties(properties, &bytes);
    if (wrong) FAIL(wrong);
    if (!count || !devices || (!notify && data)) FAIL(CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++)
        if (!object_is(devices[i], DEVICE)) FAIL(CL_INVALID_DEVICE);
    struct context *context = object_make(CONTEXT);
    if (!context) FAIL(CL_OUT_OF_HOST_MEMORY);
    context->devices = malloc(count * sizeof *devices);
    context->properties = bytes ? malloc(bytes) : NULL;
    if (!context->devices || (bytes && !context->properties)) {
        object_release(context, CONTEXT, 0);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    /* Devices that come twice are there once. */
    for (cl_uint i = 0; i < count; i++)
        if (!context_has(context, devices[i])) context->devices[context->device_count++] = devices[i];
    if (bytes) memcpy(context->properties, properties, bytes);
    context->property_bytes = bytes;
    if (error) *error = CL_SUCCESS;
    return context;
}

cl_context clCreateContextFromType(const cl_properties *properties, cl_bitfield type,
                                   void (*notify)(const char *, const void *, size_t, void *), void *data,
                                   cl_int *error) {
    cl_device_id device = the_device();
    if (type != CL_DEVICE_TYPE_ALL && (!type || type & ~(cl_bitfield)31)) FAIL(CL_INVALID_DEVICE_TYPE);
    if (!(type & (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU))) FAIL(CL_DEVICE_NOT_FOUND);
    return clCreateContext(properties, 1, &device, notify, data, error);
}

bool context_has(const struct context *context, const struct device *device) {
    for (cl_uint i = 0; i < context->device_count; i++)
        if (context->devices[i] == device) return true;
    return false;
}

cl_int clRetainContext(cl_context context) { return object_retain(context, CONTEXT, CL_INVALID_CONTEXT); }
cl_int clReleaseContext(cl_context context) { return object_release(context, CONTEXT, CL_INVALID_CONTEXT); }

cl_int clGetContextInfo(cl_context context, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT: ANSWER(cl_uint, object_references(context));
    case CL_CONTEXT_NUM_DEVICES: ANSWER(cl_uint, context->device_count);
    case CL_CONTEXT_DEVICES:
        return answer(context->devices, context->device_count * sizeof *context->devices, size, value, bytes_out);
    case CL_CONTEXT_PROPERTIES:
        return answer(context->properties, context->property_bytes, size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clSetContextDestructorCallback(cl_context context, object_callback call, void *data) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    return call ? farewell_add(&context->farewells, call, data) : CL_INVALID_VALUE;
}

static void context_free(void *object) {
    struct context *context = object;
    farewells_call(context->farewells, context);
    while (context->svm) {
        struct svm_block *next = context->svm->next;
        free(context->svm->data);
        free(context->svm);
        context->svm = next;
    }
    free(context->devices);
    free(context->properties);
}

__attribute__((constructor)) static void prepare(void) { object_on_free(CONTEXT, context_free); }
