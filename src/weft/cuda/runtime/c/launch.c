/* Launches of kernels. */

#include "runtime.h"

#include <stdlib.h>
#include <string.h>

extern const size_t weft_small_groups;
/* As in src/weft/ptx/lift/variables.py. */
static const char GRID[] = "weft.grid";
enum { RECORD_ALIGNMENT = 128, MAX_POINTERS = 32, GRID_WORKSPACE = 64 };

struct launch {
    const struct function *function;
    const struct prepared *code;
    uint32_t grid[3], block[3];
    size_t shared;
    bool cooperative;
    int64_t slots[];
};

/* The kernel leaves the number of an assertion that does not hold at the begin of the program's variables. */
static void settle(const struct launch *launch) {
    uint64_t number;
    memcpy(&number, launch->function->module->scope, sizeof number);
    if (!number) return;
    memset(launch->function->module->scope, 0, sizeof number);
    const char *text = number <= launch->code->assertion_count ? launch->code->assertions[number - 1] : "";
    bool is_trap = !strncmp(text, "trap", 4);
    say("%s: %s%s", launch->function->name, is_trap ? "" : "this assertion does not hold: ", text);
    device_break(is_trap ? cudaErrorLaunchFailure : cudaErrorAssert);
}

/* The memory by which the blocks of a grid wait for each other, if all of them run at the same time. */
static void offer_grid(const struct launch *launch) {
    const struct module *module = launch->function->module;
    for (size_t i = 0; i < module->variable_count; i++) {
        if (strcmp(module->variables[i].name, GRID)) continue;
        char *variable = module->scope + module->variables[i].offset;
        const char *workspace = launch->cooperative ? variable + GRID_WORKSPACE : NULL;
        memcpy(variable, &workspace, sizeof workspace);
    }
}

static void run_launch(struct task *task) {
    struct launch *launch = (struct launch *)task->payload;
    const struct code *code = &launch->code->code;
    int64_t error[ERROR_WORDS] = {0}, groups = 1;
    size_t local[3];
    struct record record = {.slots = launch->slots, .dynamic_bytes = (int64_t)launch->shared, .error = error};
    for (int d = 0; d < 3; d++) {
        record.grid[d] = launch->grid[d];
        record.block[d] = launch->block[d];
        local[d] = launch->block[d];
        groups *= record.grid[d];
    }
    /* Blocks of a cooperative launch wait for each other, so each has a thread. */
    int64_t chunk = launch->cooperative ? 1 : (int64_t)code->chunk, chunks = (groups + chunk - 1) / chunk;
    uint32_t threads = pool_threads();
    if (threads > chunks) threads = (uint32_t)chunks;
    struct arenas *arenas = arenas_take(arena_bytes(code, local, launch->shared), threads);
    if (!arenas) {
        device_break(cudaErrorLaunchOutOfResources);
        return;
    }
    record.arenas = arenas->table;
    offer_grid(launch);
    int32_t status = pool_run(code->entry, &record, groups, chunk, threads);
    arenas_give(arenas);
    if (status) {
        say("%s: threads of a block wait at different barriers", launch->function->name);
        device_break(cudaErrorLaunchFailure);
    }
    settle(launch);
}

static size_t record_bytes(const struct parameter *parameter) {
    return parameter->is_record ? (parameter->size + RECORD_ALIGNMENT - 1) / RECORD_ALIGNMENT * RECORD_ALIGNMENT : 0;
}

/* Slots of all arguments, behind them the address of the program's variables, and copies of what is passed in memory. */
static struct task *pack(const struct function *function, void *const *arguments) {
    size_t bytes = sizeof(struct launch) + (function->parameter_count + 1) * 8 + RECORD_ALIGNMENT;
    for (size_t i = 0; i < function->parameter_count; i++) bytes += record_bytes(&function->parameters[i]);
    struct task *task = task_make(bytes, run_launch);
    if (!task) return NULL;
    struct launch *launch = (struct launch *)task->payload;
    char *records = (char *)(launch->slots + function->parameter_count + 1);
    records += -(uintptr_t)records % RECORD_ALIGNMENT;
    for (size_t i = 0; i < function->parameter_count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter->is_record) {
            memcpy(records, arguments[i], parameter->size);
            launch->slots[i] = (int64_t)records;
            records += record_bytes(parameter);
        } else
            memcpy(&launch->slots[i], arguments[i], parameter->size);
    }
    launch->slots[function->parameter_count] = (int64_t)function->module->scope;
    return task;
}

/* Whether no two arguments lead to one block of memory. What an argument is for is not known: a number that cannot be an
   address, or is that of no block and small, is none. */
static bool are_apart(const struct function *function, void *const *arguments) {
    const char *addresses[MAX_POINTERS] = {function->module->scope};
    size_t count = function->module->scope_bytes != 0;
    for (size_t i = 0; i < function->parameter_count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        uint64_t value;
        struct block block;
        if (parameter->is_record || parameter->size != sizeof value) continue;
        memcpy(&value, arguments[i], sizeof value);
        if (value >> 47 || (value >> 32 == 0 && !block_find((const void *)value, &block))) continue;
        if (count == MAX_POINTERS) return false;
        addresses[count++] = (const char *)value;
    }
    return blocks_are_apart(addresses, count);
}

static cudaError_t check(const struct function *function, const uint32_t *grid, const uint32_t *block, size_t shared) {
    size_t threads = 1;
    for (int d = 0; d < 3; d++) {
        if (!grid[d] || !block[d] || grid[d] > GRID_LIMIT[d] || block[d] > BLOCK_LIMIT[d])
            return cudaErrorInvalidConfiguration;
        if (function->required[0] && block[d] != function->required[d]) return cudaErrorInvalidValue;
        threads *= block[d];
    }
    if (threads > THREAD_LIMIT) return cudaErrorInvalidConfiguration;
    if (threads > function->thread_limit) return cudaErrorLaunchOutOfResources;
    if (shared > SHARED_OPTIN || shared > function->dynamic_limit) return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t launch(const void *handle, const struct dim3 *grid_size, const struct dim3 *block_size,
                          void *const *arguments, size_t shared, void *stream, bool cooperative) {
    struct function *function;
    cudaError_t error = function_find(handle, &function);
    if (error) return error;
    if (!stream_of(stream)) return cudaErrorInvalidResourceHandle;
    uint32_t grid[3] = {grid_size->x, grid_size->y, grid_size->z};
    uint32_t block[3] = {block_size->x, block_size->y, block_size->z};
    error = check(function, grid, block, shared);
    if (error) return error;
    if (cooperative && (uint64_t)grid[0] * grid[1] * grid[2] > pool_threads()) {
        say("%s: of a cooperative launch %u blocks run at the same time, one for each thread (WEFT_NUM_THREADS)",
            function->name, pool_threads());
        return cudaErrorCooperativeLaunchTooLarge;
    }
    struct launch_kind kind = {.large = memory_is_large(), .apart = are_apart(function, arguments)};
    memcpy(kind.block, block, sizeof block);
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) {
        kind.large |= grid[d] > weft_small_groups;
        threads *= (uint64_t)grid[d] * block[d];
    }
    struct task *task = pack(function, arguments);
    if (!task) return cudaErrorMemoryAllocation;
    struct launch *made = (struct launch *)task->payload;
    error = function_prepare(function, kind, made->slots, threads, &made->code);
    if (error) {
        free(task);
        return error;
    }
    made->function = function;
    memcpy(made->grid, grid, sizeof grid);
    memcpy(made->block, block, sizeof block);
    made->shared = shared;
    made->cooperative = cooperative;
    return task_submit(task, stream);
}

API cudaError_t cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                                 size_t shared, void *stream) {
    return report(launch(function, &grid, &block, arguments, shared, stream, false));
}

API cudaError_t __cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
                                   size_t shared, void *stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

API cudaError_t cudaLaunchCooperativeKernel(const void *function, struct dim3 grid, struct dim3 block,
                                            void **arguments, size_t shared, void *stream) {
    return report(launch(function, &grid, &block, arguments, shared, stream, true));
}

API cudaError_t cudaLaunchKernelExC(const struct launch_configuration *configuration, const void *function,
                                    void **arguments) {
    if (!configuration) return report(cudaErrorInvalidValue);
    bool cooperative = false;
    for (uint32_t i = 0; i < configuration->attribute_count; i++) {
        const struct launch_attribute *attribute = &configuration->attributes[i];
        if (attribute->id == ATTRIBUTE_COOPERATIVE) cooperative = attribute->value.number;
        const uint32_t *cluster = (const uint32_t *)attribute->value.bytes;
        if (attribute->id == ATTRIBUTE_CLUSTER && cluster[0] * cluster[1] * cluster[2] > 1) {
            say("a launch asks for clusters of blocks");
            return report(cudaErrorNotSupported);
        }
    }
    return report(launch(function, &configuration->grid, &configuration->block, arguments, configuration->shared,
                         configuration->stream, cooperative));
}

API cudaError_t __cudaGetKernel(const void **kernel, const void *function) {
    *kernel = function;
    return cudaSuccess;
}

API cudaError_t cudaGetKernel(struct function **kernel, const void *function) {
    return report(kernel ? function_find(function, kernel) : cudaErrorInvalidValue);
}

API cudaError_t cudaGetFuncBySymbol(struct function **found, const void *function) {
    return cudaGetKernel(found, function);
}

API cudaError_t cudaFuncGetName(const char **name, const void *handle) {
    struct function *function;
    cudaError_t error = name ? function_find(handle, &function) : cudaErrorInvalidValue;
    if (!error) *name = function->name;
    return report(error);
}

/* `kernel<<<grid, block, shared, stream>>>`: pushed where it stands, popped in the function that nvcc makes of the kernel. */

struct configuration {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
};

enum { DEEPEST = 32 };
static _Thread_local struct configuration pushed[DEEPEST];
static _Thread_local unsigned depth;

API unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream) {
    if (depth == DEEPEST) return 1;
    pushed[depth++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

API cudaError_t __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void **stream) {
    if (!depth) return report(cudaErrorMissingConfiguration);
    const struct configuration *top = &pushed[--depth];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *stream = top->stream;
    return cudaSuccess;
}
