/* What of the CUDA runtime's interface the library needs: numbers and layouts of CUDA 13, for Linux on x86-64. */

#ifndef WEFT_CUDA_API_H
#define WEFT_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int cudaError_t;

/* Name, number, and what `cudaGetErrorString` says. */
#define ERRORS                                                                                                       \
    E(cudaSuccess, 0, "no error")                                                                                    \
    E(cudaErrorInvalidValue, 1, "an argument has a value that it cannot have")                                       \
    E(cudaErrorMemoryAllocation, 2, "out of memory")                                                                 \
    E(cudaErrorInitializationError, 3, "the compiler cannot be started")                                             \
    E(cudaErrorInvalidConfiguration, 9, "the grid or the block has a size that it cannot have")                      \
    E(cudaErrorInvalidPitchValue, 12, "the pitch is less than the width")                                            \
    E(cudaErrorInvalidSymbol, 13, "there is no such variable in device memory")                                      \
    E(cudaErrorInvalidDevicePointer, 17, "this is no address in device memory")                                      \
    E(cudaErrorInvalidMemcpyDirection, 21, "there is no such direction of copies")                                   \
    E(cudaErrorMissingConfiguration, 52, "a kernel was called without a grid")                                       \
    E(cudaErrorInvalidDeviceFunction, 98, "there is no such kernel")                                                 \
    E(cudaErrorNoDevice, 100, "there is no device")                                                                  \
    E(cudaErrorInvalidDevice, 101, "there is no device of this number")                                              \
    E(cudaErrorInvalidKernelImage, 200, "the program's device code cannot be read")                                  \
    E(cudaErrorNoKernelImageForDevice, 209, "the program has no PTX")                                                \
    E(cudaErrorUnsupportedLimit, 215, "the device has no such limit")                                                \
    E(cudaErrorInvalidPtx, 218, "the kernel's PTX is malformed")                                                     \
    E(cudaErrorFileNotFound, 301, "the file cannot be read")                                                         \
    E(cudaErrorInvalidResourceHandle, 400, "this is no stream, event, graph or kernel")                              \
    E(cudaErrorSymbolNotFound, 500, "there is no kernel or variable of this name")                                   \
    E(cudaErrorNotReady, 600, "not done yet")                                                                        \
    E(cudaErrorIllegalAddress, 700, "a kernel used an address that it must not")                                     \
    E(cudaErrorLaunchOutOfResources, 701, "a launch asks for more than the device has")                              \
    E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is enabled")                                              \
    E(cudaErrorPeerAccessNotEnabled, 705, "peer access is not enabled")                                              \
    E(cudaErrorAssert, 710, "an assertion in a kernel does not hold")                                                \
    E(cudaErrorHostMemoryAlreadyRegistered, 712, "the memory is registered")                                         \
    E(cudaErrorHostMemoryNotRegistered, 713, "the memory is not registered")                                         \
    E(cudaErrorLaunchFailure, 719, "a kernel failed")                                                                \
    E(cudaErrorCooperativeLaunchTooLarge, 720, "a cooperative launch has more blocks than run at the same time")     \
    E(cudaErrorNotSupported, 801, "weft does not run this")                                                          \
    E(cudaErrorStreamCaptureUnsupported, 900, "this cannot be captured")                                             \
    E(cudaErrorStreamCaptureUnmatched, 903, "the stream is not capturing")                                           \
    E(cudaErrorUnknown, 999, "unknown error")

#define E(name, number, text) name = number,
enum { ERRORS };
#undef E

struct dim3 {
    uint32_t x, y, z;
};

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };
enum { UNREGISTERED_MEMORY, HOST_MEMORY, DEVICE_MEMORY, MANAGED_MEMORY };
enum { STREAM_NON_BLOCKING = 1, EVENT_BLOCKING = 1, EVENT_NO_TIMING = 2, EVENT_INTERPROCESS = 4 };

struct extent {
    size_t width, height, depth;
};

struct position {
    size_t x, y, z;
};

struct pitched {
    char *data;
    size_t pitch, width, height;
};

struct copy_3d {
    void *from_array;
    struct position from_position;
    struct pitched from;
    void *to_array;
    struct position to_position;
    struct pitched to;
    struct extent extent;
    int kind;
};

struct pointer_attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

struct function_attributes {
    size_t shared, constant, local;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
    int cluster_must_be_set, cluster[3], cluster_policy, non_portable_cluster;
    int reserved[16];
};

struct launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int number;
    } value;
};

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

struct launch_configuration {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
    const struct launch_attribute *attributes;
    uint32_t attribute_count;
};

struct device_properties {
    char name[256], uuid[16], luid[8];
    uint32_t luid_mask;
    size_t global_bytes, shared_per_block;
    int registers_per_block, warp;
    size_t pitch;
    int threads_per_block, block[3], grid[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int processors, integrated, maps_host;
    int texture_1d, texture_1d_mipmap, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3];
    int texture_2d_gather[2], texture_3d[3], texture_3d_alternate[3], texture_cube, texture_1d_layered[2];
    int texture_2d_layered[3], texture_cube_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube;
    int surface_cube_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, bus, slot, domain, tcc, copy_engines, unified_addressing, memory_bus_bits;
    int cache_bytes, persisting_bytes, threads_per_processor, stream_priorities, global_l1, local_l1;
    size_t shared_per_processor;
    int registers_per_processor, managed, is_multi, multi_group, host_atomics, pageable, concurrent_managed;
    int preemption, registered_host_pointers, cooperative;
    size_t shared_per_block_optin;
    int pageable_by_host_tables, direct_managed, blocks_per_processor, window_bytes;
    size_t reserved_shared;
    int host_register, sparse_arrays, host_register_read_only, timeline, pools, rdma;
    uint32_t rdma_flush;
    int rdma_order;
    uint32_t pool_handles;
    int deferred_arrays, ipc_events, clusters, function_pointers, numa_config, numa_id, mps, host_numa;
    uint32_t pci_device, pci_subsystem;
    int host_numa_ipc;
    int reserved[56];
};

/* Numbers of what `cudaDeviceGetAttribute` is asked for. */
enum device_attribute {
    THREADS_PER_BLOCK = 1, BLOCK_X, BLOCK_Y, BLOCK_Z, GRID_X, GRID_Y, GRID_Z, SHARED_PER_BLOCK, CONSTANT_BYTES, WARP,
    PITCH, REGISTERS_PER_BLOCK, CLOCK_KHZ, TEXTURE_ALIGNMENT, OVERLAP, PROCESSORS, TIMEOUT, INTEGRATED, MAPS_HOST,
    COMPUTE_MODE,
    CONCURRENT_KERNELS = 31, ECC, BUS, SLOT, TCC, MEMORY_CLOCK_KHZ, MEMORY_BUS_BITS, CACHE_BYTES,
    THREADS_PER_PROCESSOR, COPY_ENGINES, UNIFIED_ADDRESSING, DOMAIN = 50, TEXTURE_PITCH_ALIGNMENT,
    MAJOR = 75, MINOR, STREAM_PRIORITIES = 78, GLOBAL_L1, LOCAL_L1, SHARED_PER_PROCESSOR, REGISTERS_PER_PROCESSOR,
    MANAGED, IS_MULTI, MULTI_GROUP, HOST_ATOMICS, DOUBLE_RATIO, PAGEABLE, CONCURRENT_MANAGED, PREEMPTION,
    REGISTERED_HOST_POINTERS, COOPERATIVE = 95, SHARED_PER_BLOCK_OPTIN = 97, FLUSH, HOST_REGISTER,
    PAGEABLE_BY_HOST_TABLES, DIRECT_MANAGED, BLOCKS_PER_PROCESSOR = 106, RESERVED_SHARED = 111, POOLS = 115,
    LAST_DEVICE_ATTRIBUTE = 160,
};

#endif
