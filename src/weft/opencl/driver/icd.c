/* How a loader of drivers finds the platform: the three functions that it looks up by name. */

#include "objects.h"

#include <string.h>

extern const char *const weft_names[];
extern const size_t weft_function_count;

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count);
API cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count);
API void *clGetExtensionFunctionAddress(const char *name);
void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name);
API cl_int clGetPlatformInfo(cl_platform_id id, cl_uint name, size_t size, void *value, size_t *bytes_out);

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    return clGetPlatformIDs(room, platforms, count);
}

void *clGetExtensionFunctionAddress(const char *name) {
    if (!name) return NULL;
    if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void *)clIcdGetPlatformIDsKHR;
    for (size_t i = 0; i < weft_function_count; i++)
        if (weft_names[i] && !strcmp(name, weft_names[i])) return (void *)weft_dispatch[i];
    return NULL;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    return platform == the_platform() ? clGetExtensionFunctionAddress(name) : NULL;
}
