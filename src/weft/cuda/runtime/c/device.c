/* The one device: the processor, which runs a block on each of its cores at a time. */

#include "runtime.h"

#include <string.h>
#include <unistd.h>

extern const size_t weft_runtime_version, weft_capability;

const uint32_t BLOCK_LIMIT[3] = {1024, 1024, 64}, GRID_LIMIT[3] = {INT32_MAX, 65535, 65535};
enum { REGISTERS = 65536, CONSTANT_BYTES_THERE = 64 << 10, TEXTURE_ALIGN = 512 };

static struct processor processor;

__attribute__((constructor)) static void read_processor(void) { processor = processor_read(); }

static int cache_bytes(void) {
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (int)bytes : 1 << 20;
}

API cudaError_t cudaGetDeviceProperties(struct device_properties *p, int device) {
    if (!p) return report(cudaErrorInvalidValue);
    if (device) return report(cudaErrorInvalidDevice);
    *p = (struct device_properties){
        .uuid = "weft",
        .global_bytes = memory_bytes(),
        .shared_per_block = SHARED_LIMIT,
        .registers_per_block = REGISTERS,
        .warp = WARP_THREADS,
        .pitch = INT32_MAX,
        .threads_per_block = THREAD_LIMIT,
        .constant_bytes = CONSTANT_BYTES_THERE,
        .major = (int)weft_capability / 10,
        .minor = (int)weft_capability % 10,
        .texture_alignment = TEXTURE_ALIGN,
        .texture_pitch_alignment = 32,
        .surface_alignment = TEXTURE_ALIGN,
        .processors = (int)pool_threads(),
        .integrated = 1,
        .maps_host = 1,
        .concurrent_kernels = 1,
        .unified_addressing = 1,
        .copy_engines = 1,
        .memory_bus_bits = 64,
        .cache_bytes = cache_bytes(),
        .threads_per_processor = THREAD_LIMIT,
        .stream_priorities = 0,
        .global_l1 = 1,
        .local_l1 = 1,
        .shared_per_processor = SHARED_OPTIN,
        .registers_per_processor = REGISTERS,
        .managed = 1,
        .host_atomics = 1,
        .concurrent_managed = 1,
        .registered_host_pointers = 1,
        .cooperative = 1,
        .shared_per_block_optin = SHARED_OPTIN,
        .direct_managed = 1,
        .blocks_per_processor = 1,
        .host_register = 1,
        .pools = 1,
        .numa_id = -1,
        .host_numa = -1,
    };
    strcpy(p->name, processor.name);
    for (int d = 0; d < 3; d++) {
        p->block[d] = (int)BLOCK_LIMIT[d];
        p->grid[d] = (int)GRID_LIMIT[d];
    }
    return report(cudaSuccess);
}

API cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device) {
    if (!value || attribute < 1 || attribute > LAST_DEVICE_ATTRIBUTE) return report(cudaErrorInvalidValue);
    if (device) return report(cudaErrorInvalidDevice);
    switch ((enum device_attribute)attribute) {
    case THREADS_PER_BLOCK: *value = THREAD_LIMIT; break;
    case BLOCK_X: *value = (int)BLOCK_LIMIT[0]; break;
    case BLOCK_Y: *value = (int)BLOCK_LIMIT[1]; break;
    case BLOCK_Z: *value = (int)BLOCK_LIMIT[2]; break;
    case GRID_X: *value = (int)GRID_LIMIT[0]; break;
    case GRID_Y: *value = (int)GRID_LIMIT[1]; break;
    case GRID_Z: *value = (int)GRID_LIMIT[2]; break;
    case SHARED_PER_BLOCK: *value = SHARED_LIMIT; break;
    case CONSTANT_BYTES: *value = CONSTANT_BYTES_THERE; break;
    case WARP: *value = WARP_THREADS; break;
    case PITCH: *value = INT32_MAX; break;
    case REGISTERS_PER_BLOCK: case REGISTERS_PER_PROCESSOR: *value = REGISTERS; break;
    case CLOCK_KHZ: case MEMORY_CLOCK_KHZ: *value = (int)processor.mhz * 1000; break;
    case TEXTURE_ALIGNMENT: *value = TEXTURE_ALIGN; break;
    case TEXTURE_PITCH_ALIGNMENT: *value = 32; break;
    case MEMORY_BUS_BITS: *value = 64; break;
    case PROCESSORS: *value = (int)pool_threads(); break;
    case CACHE_BYTES: *value = cache_bytes(); break;
    case THREADS_PER_PROCESSOR: *value = THREAD_LIMIT; break;
    case SHARED_PER_PROCESSOR: case SHARED_PER_BLOCK_OPTIN: *value = SHARED_OPTIN; break;
    case DOUBLE_RATIO: *value = 2; break;
    case MAJOR: *value = (int)weft_capability / 10; break;
    case MINOR: *value = (int)weft_capability % 10; break;
    case OVERLAP: case INTEGRATED: case MAPS_HOST: case CONCURRENT_KERNELS: case COPY_ENGINES:
    case UNIFIED_ADDRESSING: case GLOBAL_L1: case LOCAL_L1: case MANAGED: case HOST_ATOMICS:
    case CONCURRENT_MANAGED: case REGISTERED_HOST_POINTERS: case COOPERATIVE: case HOST_REGISTER:
    case DIRECT_MANAGED: case BLOCKS_PER_PROCESSOR: case POOLS:
        *value = 1;
        break;
    default: *value = 0;
    }
    return report(cudaSuccess);
}

API cudaError_t cudaGetDeviceCount(int *count) {
    if (!count) return report(cudaErrorInvalidValue);
    *count = 1;
    return report(cudaSuccess);
}
API cudaError_t cudaGetDevice(int *device) {
    if (!device) return report(cudaErrorInvalidValue);
    *device = 0;
    return report(cudaSuccess);
}
API cudaError_t cudaSetDevice(int device) { return report(device ? cudaErrorInvalidDevice : cudaSuccess); }
API cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    return (void)device_flags, (void)flags, cudaSetDevice(device);
}
API cudaError_t cudaChooseDevice(int *device, const void *wanted) {
    return report(wanted && device ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue);
}
API cudaError_t cudaSetValidDevices(const int *list, int count) {
    for (int i = 0; i < count; i++)
        if (list[i]) return report(cudaErrorInvalidDevice);
    return report(cudaSuccess);
}

static unsigned device_flags;
API cudaError_t cudaSetDeviceFlags(unsigned flags) {
    device_flags = flags;
    return report(cudaSuccess);
}
API cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    return report(flags ? (*flags = device_flags, cudaSuccess) : cudaErrorInvalidValue);
}

API cudaError_t cudaDeviceReset(void) {
    queue_finish();
    device_mend();
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetPCIBusId(char *text, int room, int device) {
    if (device) return report(cudaErrorInvalidDevice);
    if (!text || room < 13) return report(cudaErrorInvalidValue);
    strcpy(text, "0000:00:00.0");
    return report(cudaSuccess);
}
API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text) {
    if (!device || !text) return report(cudaErrorInvalidValue);
    *device = 0;
    return report(strcmp(text, "0000:00:00.0") ? cudaErrorInvalidDevice : cudaSuccess);
}

API cudaError_t cudaDriverGetVersion(int *version) {
    if (!version) return report(cudaErrorInvalidValue);
    *version = (int)weft_runtime_version;
    return report(cudaSuccess);
}
API cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

/* Limits and preferences that a processor has no use for are kept. */

enum { LIMITS = 7 };
static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

API cudaError_t cudaDeviceSetLimit(unsigned limit, size_t value) {
    if (limit >= LIMITS) return report(cudaErrorUnsupportedLimit);
    limits[limit] = value;
    return report(cudaSuccess);
}
API cudaError_t cudaDeviceGetLimit(size_t *value, unsigned limit) {
    if (!value) return report(cudaErrorInvalidValue);
    if (limit >= LIMITS) return report(cudaErrorUnsupportedLimit);
    *value = limits[limit];
    return report(cudaSuccess);
}

static int cache_configuration, shared_configuration;
API cudaError_t cudaDeviceSetCacheConfig(int wish) { return cache_configuration = wish, report(cudaSuccess); }
API cudaError_t cudaDeviceGetCacheConfig(int *wish) {
    return report(wish ? (*wish = cache_configuration, cudaSuccess) : cudaErrorInvalidValue);
}
API cudaError_t cudaDeviceSetSharedMemConfig(int wish) { return shared_configuration = wish, report(cudaSuccess); }
API cudaError_t cudaDeviceGetSharedMemConfig(int *wish) {
    return report(wish ? (*wish = shared_configuration, cudaSuccess) : cudaErrorInvalidValue);
}
API cudaError_t cudaCtxResetPersistingL2Cache(void) { return report(cudaSuccess); }
API cudaError_t cudaDeviceGraphMemTrim(int device) { return report(device ? cudaErrorInvalidDevice : cudaSuccess); }
API cudaError_t cudaProfilerStart(void) { return report(cudaSuccess); }
API cudaError_t cudaProfilerStop(void) { return report(cudaSuccess); }

/* There is no other device. */
API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    if (!can) return report(cudaErrorInvalidValue);
    if (device || peer) return report(cudaErrorInvalidDevice);
    *can = 0;
    return report(cudaSuccess);
}
API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return (void)peer, (void)flags, report(cudaErrorInvalidDevice);
}
API cudaError_t cudaDeviceDisablePeerAccess(int peer) { return (void)peer, report(cudaErrorPeerAccessNotEnabled); }

/* Functions. */

API cudaError_t cudaFuncGetAttributes(struct function_attributes *attributes, const void *handle) {
    struct function *function;
    if (!attributes) return report(cudaErrorInvalidValue);
    cudaError_t error = function_find(handle, &function);
    if (error) return report(error);
    *attributes = (struct function_attributes){
        .shared = function->shared,
        .max_threads = (int)function->thread_limit,
        .registers = WARP_THREADS,
        .ptx_version = (int)function->target,
        .binary_version = (int)weft_capability,
        .max_dynamic_shared = (int)function->dynamic_limit,
    };
    return report(cudaSuccess);
}

enum { MAX_DYNAMIC_SHARED = 8 };
API cudaError_t cudaFuncSetAttribute(const void *handle, int attribute, int value) {
    struct function *function;
    cudaError_t error = function_find(handle, &function);
    if (error) return report(error);
    if (attribute == MAX_DYNAMIC_SHARED) {
        if (value < 0 || (size_t)value + function->shared > SHARED_OPTIN) return report(cudaErrorInvalidValue);
        function->dynamic_limit = (size_t)value > SHARED_LIMIT ? (size_t)value : SHARED_LIMIT;
    }
    return report(cudaSuccess);
}
API cudaError_t cudaFuncSetCacheConfig(const void *handle, int wish) {
    struct function *function;
    return (void)wish, report(function_find(handle, &function));
}
API cudaError_t cudaFuncSetSharedMemConfig(const void *handle, int wish) {
    return cudaFuncSetCacheConfig(handle, wish);
}

/* Occupancy: a processor runs one block at a time. */

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *handle, int threads,
                                                              size_t shared) {
    struct function *function;
    if (!blocks || threads < 1) return report(cudaErrorInvalidValue);
    cudaError_t error = function_find(handle, &function);
    if (error) return report(error);
    *blocks = (size_t)threads <= function->thread_limit && shared + function->shared <= SHARED_OPTIN;
    return report(cudaSuccess);
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                       size_t shared, unsigned flags) {
    if (flags > 1) return report(cudaErrorInvalidValue);
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *handle, int blocks, int threads) {
    struct function *function;
    if (!bytes || blocks < 1 || threads < 1) return report(cudaErrorInvalidValue);
    cudaError_t error = function_find(handle, &function);
    if (error) return report(error);
    *bytes = blocks > 1 ? 0 : SHARED_OPTIN - function->shared;
    return report(cudaSuccess);
}
