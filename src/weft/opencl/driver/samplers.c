/* Samplers, and fills of images with a colour. */

#include "compiler.h"
#include "transfers.h"

#include <stdlib.h>

static cl_sampler make_sampler(cl_context context, cl_uint normalized, cl_uint addressing, cl_uint filter,
                               cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (normalized > 1 || addressing < CL_ADDRESS_NONE || addressing > CL_ADDRESS_MIRRORED_REPEAT ||
        filter < CL_FILTER_NEAREST || filter > CL_FILTER_LINEAR)
        FAIL(CL_INVALID_VALUE);
    if (!normalized && (addressing == CL_ADDRESS_REPEAT || addressing == CL_ADDRESS_MIRRORED_REPEAT))
        FAIL(CL_INVALID_VALUE);
    struct sampler *sampler = object_make(SAMPLER);
    if (!sampler) FAIL(CL_OUT_OF_HOST_MEMORY);
    sampler->context = context;
    object_hold(context);
    sampler->normalized = normalized;
    sampler->addressing = addressing;
    sampler->filter = filter;
    if (error) *error = CL_SUCCESS;
    return sampler;
}

cl_sampler clCreateSampler(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter,
                           cl_int *error) {
    return make_sampler(context, normalized, addressing, filter, error);
}

cl_sampler clCreateSamplerWithProperties(cl_context context, const cl_properties64 *properties, cl_int *error) {
    cl_uint normalized = CL_TRUE, addressing = CL_ADDRESS_CLAMP, filter = CL_FILTER_NEAREST;
    for (size_t i = 0; properties && properties[i]; i += 2) {
        cl_uint value = (cl_uint)properties[i + 1];
        switch (properties[i]) {
        case CL_SAMPLER_NORMALIZED_COORDS: normalized = value; break;
        case CL_SAMPLER_ADDRESSING_MODE: addressing = value; break;
        case CL_SAMPLER_FILTER_MODE: filter = value; break;
        default: FAIL(CL_INVALID_VALUE);
        }
        for (size_t k = 0; k < i; k += 2)
            if (properties[k] == properties[i]) FAIL(CL_INVALID_VALUE);
    }
    cl_sampler sampler = make_sampler(context, normalized, addressing, filter, error);
    if (sampler && properties_copy(properties, &sampler->property_list, &sampler->property_bytes)) {
        object_release(sampler, SAMPLER, 0);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    return sampler;
}

cl_int clRetainSampler(cl_sampler sampler) { return object_retain(sampler, SAMPLER, CL_INVALID_SAMPLER); }
cl_int clReleaseSampler(cl_sampler sampler) { return object_release(sampler, SAMPLER, CL_INVALID_SAMPLER); }

cl_int clGetSamplerInfo(cl_sampler sampler, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(sampler, SAMPLER)) return CL_INVALID_SAMPLER;
    switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT: ANSWER(cl_uint, object_references(sampler));
    case CL_SAMPLER_CONTEXT: ANSWER(cl_context, sampler->context);
    case CL_SAMPLER_NORMALIZED_COORDS: ANSWER(cl_bool, sampler->normalized);
    case CL_SAMPLER_ADDRESSING_MODE: ANSWER(cl_uint, sampler->addressing);
    case CL_SAMPLER_FILTER_MODE: ANSWER(cl_uint, sampler->filter);
    case CL_SAMPLER_PROPERTIES: return answer(sampler->property_list, sampler->property_bytes, size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

static void sampler_free(void *object) {
    struct sampler *sampler = object;
    free(sampler->property_list);
    object_drop(sampler->context);
}

__attribute__((constructor)) static void prepare(void) { object_on_free(SAMPLER, sampler_free); }
