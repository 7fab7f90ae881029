/* The one platform and its device: the processor, as OpenCL 3.0 describes devices. */

#include "objects.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION(major, minor) ((cl_uint)(major) << 22 | (cl_uint)(minor) << 12)

enum { VECTOR_BYTES = 16 };

/* What the language has, and limits: the compiler's own, from weft.frontend.opencl.features. */
extern const char weft_version[];
extern const char *const weft_extensions[], *const weft_features[];
extern const size_t weft_extension_count, weft_feature_count, weft_group_limit, weft_local_bytes, weft_sub_group_size;

static struct platform platform;
static struct device device;

static struct processor processor;

__attribute__((constructor)) static void prepare(void) {
    void *const *table = (void *const *)weft_dispatch;
    platform.object = (struct object){.dispatch = table, .kind = PLATFORM, .references = 1, .holds = 1};
    device.object = (struct object){.dispatch = table, .kind = DEVICE, .references = 1, .holds = 1};
    device.units = processor_count();
    processor = processor_read();
}

struct platform *the_platform(void) { return &platform; }
struct device *the_device(void) { return &device; }

static cl_int answer_names(const char *const *names, size_t count, size_t size, void *value, size_t *bytes_out) {
    char text[2048] = "";
    for (size_t i = 0; i < count; i++) {
        if (i) strcat(text, " ");
        strcat(text, names[i]);
    }
    return answer_text(text, size, value, bytes_out);
}

static cl_int answer_versions(const char *const *names, size_t count, cl_uint version, size_t size, void *value,
                              size_t *bytes_out) {
    cl_name_version list[64] = {0};
    for (size_t i = 0; i < count; i++) {
        list[i].version = version;
        strncpy(list[i].name, names[i], sizeof list[i].name - 1);
    }
    return answer(list, count * sizeof *list, size, value, bytes_out);
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    if ((platforms && !room) || (!platforms && !count)) return CL_INVALID_VALUE;
    if (platforms) *platforms = &platform;
    if (count) *count = 1;
    return CL_SUCCESS;
}

API cl_int clGetPlatformInfo(cl_platform_id id, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (id && id != &platform) return CL_INVALID_PLATFORM;
    char text[128];
    switch (name) {
    case CL_PLATFORM_PROFILE: return answer_text("FULL_PROFILE", size, value, bytes_out);
    case CL_PLATFORM_VERSION:
        snprintf(text, sizeof text, "OpenCL 3.0 weft %s", weft_version);
        return answer_text(text, size, value, bytes_out);
    case CL_PLATFORM_NAME:
    case CL_PLATFORM_VENDOR: return answer_text("weft", size, value, bytes_out);
    case CL_PLATFORM_EXTENSIONS: return answer_names(weft_extensions, weft_extension_count, size, value, bytes_out);
    case CL_PLATFORM_ICD_SUFFIX_KHR: return answer_text("WEFT", size, value, bytes_out);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION: ANSWER(cl_ulong, 1);
    case CL_PLATFORM_NUMERIC_VERSION: ANSWER(cl_uint, VERSION(3, 0));
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
        return answer_versions(weft_extensions, weft_extension_count, VERSION(1, 0), size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetDeviceIDs(cl_platform_id id, cl_bitfield type, cl_uint room, cl_device_id *devices, cl_uint *count) {
    if (id && id != &platform) return CL_INVALID_PLATFORM;
    if ((devices && !room) || (!devices && !count)) return CL_INVALID_VALUE;
    if (type != CL_DEVICE_TYPE_ALL && (!type || type & ~(cl_bitfield)31)) return CL_INVALID_DEVICE_TYPE;
    if (!(type & (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU))) {
        if (count) *count = 0;
        return CL_DEVICE_NOT_FOUND;
    }
    if (devices) *devices = &device;
    if (count) *count = 1;
    return CL_SUCCESS;
}

static size_t cache_bytes(void) {
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : (size_t)1 << 20;
}

/* How many elements of a type make a vector that the device likes. Kernels are vectorized over work-items: one. */
static cl_uint vector_width(cl_uint name) {
    switch (name) {
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR: return VECTOR_BYTES;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT: return VECTOR_BYTES / 2;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: return VECTOR_BYTES / 4;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: return VECTOR_BYTES / 8;
    default: return 1;
    }
}

static cl_int answer_text_of(const struct device *id, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    char text[128];
    cl_name_version list[4] = {0};
    switch (name) {
    case CL_DEVICE_NAME: return answer_text(processor.name, size, value, bytes_out);
    case CL_DEVICE_VENDOR: return answer_text("weft", size, value, bytes_out);
    case CL_DRIVER_VERSION: return answer_text(weft_version, size, value, bytes_out);
    case CL_DEVICE_PROFILE: return answer_text("FULL_PROFILE", size, value, bytes_out);
    case CL_DEVICE_VERSION:
        snprintf(text, sizeof text, "OpenCL 3.0 weft %s", weft_version);
        return answer_text(text, size, value, bytes_out);
    case CL_DEVICE_OPENCL_C_VERSION: return answer_text("OpenCL C 1.2 weft", size, value, bytes_out);
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED:
    case CL_DEVICE_BUILT_IN_KERNELS:
    case CL_DEVICE_IL_VERSION: return answer_text("", size, value, bytes_out);
    case CL_DEVICE_EXTENSIONS: return answer_names(weft_extensions, weft_extension_count, size, value, bytes_out);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        return answer_versions(weft_extensions, weft_extension_count, VERSION(1, 0), size, value, bytes_out);
    case CL_DEVICE_OPENCL_C_FEATURES:
        return answer_versions(weft_features, weft_feature_count, VERSION(3, 0), size, value, bytes_out);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
        for (cl_uint i = 0; i < 4; i++) {
            strcpy(list[i].name, "OpenCL C");
            list[i].version = i < 3 ? VERSION(1, i) : VERSION(3, 0);
        }
        return answer(list, sizeof list, size, value, bytes_out);
    case CL_DEVICE_ILS_WITH_VERSION:
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
    case CL_DEVICE_PARTITION_TYPE: return answer(NULL, 0, size, value, bytes_out);
    case CL_DEVICE_PARTITION_PROPERTIES: ANSWER(cl_properties, 0);
    case CL_DEVICE_PLATFORM: ANSWER(cl_platform_id, &platform);
    case CL_DEVICE_PARENT_DEVICE: ANSWER(cl_device_id, id->parent);
    default: return CL_INVALID_VALUE;
    }
}

static cl_int answer_size(cl_uint name, size_t size, void *value, size_t *bytes_out) {
    const size_t items[3] = {weft_group_limit, weft_group_limit, weft_group_limit};
    switch (name) {
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return answer(items, sizeof items, size, value, bytes_out);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: ANSWER(size_t, weft_group_limit);
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: ANSWER(size_t, weft_sub_group_size);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT: ANSWER(size_t, 16384);
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH:
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: ANSWER(size_t, 2048);
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: ANSWER(size_t, (size_t)1 << 27);
    case CL_DEVICE_MAX_PARAMETER_SIZE: ANSWER(size_t, 4096);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION: ANSWER(size_t, 1);
    case CL_DEVICE_PRINTF_BUFFER_SIZE: ANSWER(size_t, (size_t)1 << 20);
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE:
    case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE: ANSWER(size_t, (size_t)1 << 20);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: ANSWER(cl_ulong, memory_bytes() / 2);
    case CL_DEVICE_GLOBAL_MEM_SIZE: ANSWER(cl_ulong, memory_bytes());
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: ANSWER(cl_ulong, cache_bytes());
    case CL_DEVICE_LOCAL_MEM_SIZE: ANSWER(cl_ulong, weft_local_bytes);
    default: return CL_INVALID_VALUE;
    }
}

static bool has_feature(const char *name) {
    for (size_t i = 0; i < weft_feature_count; i++)
        if (!strcmp(weft_features[i], name)) return true;
    return false;
}

static bool has_extension(const char *name) {
    for (size_t i = 0; i < weft_extension_count; i++)
        if (!strcmp(weft_extensions[i], name)) return true;
    return false;
}

static cl_int answer_bits(cl_uint name, size_t size, void *value, size_t *bytes_out) {
    const cl_bitfield basic = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA;
    switch (name) {
    case CL_DEVICE_TYPE: ANSWER(cl_bitfield, CL_DEVICE_TYPE_CPU);
    case CL_DEVICE_SINGLE_FP_CONFIG: ANSWER(cl_bitfield, basic | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
    case CL_DEVICE_DOUBLE_FP_CONFIG: ANSWER(cl_bitfield, basic | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF);
    case CL_DEVICE_HALF_FP_CONFIG: ANSWER(cl_bitfield, has_extension("cl_khr_fp16") ? basic & ~(cl_bitfield)CL_FP_FMA : 0);
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES: ANSWER(cl_bitfield, 0);
    case CL_DEVICE_EXECUTION_CAPABILITIES: ANSWER(cl_bitfield, CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL);
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES: ANSWER(cl_bitfield, CL_QUEUE_OUT_OF_ORDER | CL_QUEUE_PROFILING);
    case CL_DEVICE_SVM_CAPABILITIES:
        ANSWER(cl_bitfield, CL_SVM_COARSE_GRAIN_BUFFER | CL_SVM_FINE_GRAIN_BUFFER | CL_SVM_ATOMICS);
    case CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: ANSWER(cl_bitfield, 1 | 2 | 4 | 16 | 32 | 64);
    case CL_DEVICE_ATOMIC_FENCE_CAPABILITIES: ANSWER(cl_bitfield, 1 | 2 | 4 | 8 | 16 | 32 | 64);
    default: return CL_INVALID_VALUE;
    }
}

static cl_int answer_number(const struct device *id, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    switch (name) {
    case CL_DEVICE_VENDOR_ID: ANSWER(cl_uint, 0x77656674);
    case CL_DEVICE_MAX_COMPUTE_UNITS: ANSWER(cl_uint, id->units);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: ANSWER(cl_uint, 3);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: ANSWER(cl_uint, processor.mhz);
    case CL_DEVICE_ADDRESS_BITS: ANSWER(cl_uint, 64);
    case CL_DEVICE_MAX_READ_IMAGE_ARGS: ANSWER(cl_uint, 128);
    case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
    case CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS: ANSWER(cl_uint, 64);
    case CL_DEVICE_MAX_SAMPLERS: ANSWER(cl_uint, 16);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: ANSWER(cl_uint, 1024);
    case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: ANSWER(cl_uint, 128);
    case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: ANSWER(cl_uint, CL_READ_WRITE_CACHE);
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: ANSWER(cl_uint, 64);
    case CL_DEVICE_MAX_CONSTANT_ARGS: ANSWER(cl_uint, 64);
    case CL_DEVICE_LOCAL_MEM_TYPE: ANSWER(cl_uint, CL_GLOBAL);
    case CL_DEVICE_REFERENCE_COUNT: ANSWER(cl_uint, 1);
    case CL_DEVICE_NUMERIC_VERSION: ANSWER(cl_uint, VERSION(3, 0));
    case CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: ANSWER(cl_uint, VERSION(1, 2));
    case CL_DEVICE_MAX_NUM_SUB_GROUPS: ANSWER(cl_uint, (cl_uint)(weft_group_limit / weft_sub_group_size));
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: ANSWER(cl_uint, 1);
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT: ANSWER(cl_uint, 0);
    case CL_DEVICE_IMAGE_SUPPORT: ANSWER(cl_bool, has_feature("__opencl_c_images"));
    case CL_DEVICE_ERROR_CORRECTION_SUPPORT:
    case CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS:
    case CL_DEVICE_PIPE_SUPPORT: ANSWER(cl_bool, CL_FALSE);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC:
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT:
    case CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT:
    case CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT: ANSWER(cl_bool, CL_TRUE);
    default: break;
    }
    if ((name >= CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR && name <= CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE) ||
        name == CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF ||
        (name >= CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR && name <= CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF))
        ANSWER(cl_uint, vector_width(name));
    return CL_INVALID_VALUE;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(id, DEVICE)) return CL_INVALID_DEVICE;
    size_t room = 0, *needed = bytes_out ? bytes_out : &room;
    *needed = 0;
    /* A query that one of these does not know, the next may; other errors end the search. */
    cl_int status = answer_number(id, name, size, value, needed);
    if (status && !*needed) status = answer_size(name, size, value, needed);
    if (status && !*needed) status = answer_bits(name, size, value, needed);
    if (status && !*needed) status = answer_text_of(id, name, size, value, needed);
    return status;
}

cl_int clRetainDevice(cl_device_id id) { return object_is(id, DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE; }
cl_int clReleaseDevice(cl_device_id id) { return object_is(id, DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE; }

cl_int clCreateSubDevices(cl_device_id id, const cl_properties *properties, cl_uint room, cl_device_id *devices,
                          cl_uint *count) {
    (void)room, (void)devices, (void)count;
    if (!object_is(id, DEVICE)) return CL_INVALID_DEVICE;
    /* No kind of partition is offered (CL_DEVICE_PARTITION_PROPERTIES). */
    (void)properties;
    return CL_INVALID_VALUE;
}

cl_int clGetDeviceAndHostTimer(cl_device_id id, cl_ulong *device_time, cl_ulong *host_time) {
    if (!object_is(id, DEVICE)) return CL_INVALID_DEVICE;
    if (!device_time || !host_time) return CL_INVALID_VALUE;
    *device_time = *host_time = now();
    return CL_SUCCESS;
}

cl_int clGetHostTimer(cl_device_id id, cl_ulong *host_time) {
    if (!object_is(id, DEVICE)) return CL_INVALID_DEVICE;
    if (!host_time) return CL_INVALID_VALUE;
    *host_time = now();
    return CL_SUCCESS;
}

cl_int clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id id, cl_command_queue queue) {
    (void)context, (void)id, (void)queue;
    return CL_INVALID_OPERATION;
}

cl_int clUnloadPlatformCompiler(cl_platform_id id) { return id == &platform ? CL_SUCCESS : CL_INVALID_PLATFORM; }
cl_int clUnloadCompiler(void) { return CL_SUCCESS; }
