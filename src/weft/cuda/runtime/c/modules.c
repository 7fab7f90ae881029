/* Programs: their device code, kernels and variables, as nvcc's code for the host makes them known.

   A program's device code is read by the compiler (weft.cuda.runtime.compiler) when a kernel or a variable of it is first
   asked for. */

#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRAPPER_MAGIC = 0x466243b1, FATBIN_MAGIC = (int)0xba55ed50, SCOPE_ALIGNMENT = 128 };

struct wrapper {
    int magic, version;
    const char *data;
    const char *const *prelinked;
};

/* What a symbol of the host, or a handle, stands for. */
struct entry {
    const void *symbol;
    struct module *module;
    struct function *function;
    const char *variable;
    void **managed;
};

static struct {
    pthread_mutex_t lock;
    struct entry *table;
    size_t count, room;
} symbols = {.lock = PTHREAD_MUTEX_INITIALIZER};

void forked_reset_modules(void) { pthread_mutex_init(&symbols.lock, NULL); }

static struct entry *slot(struct entry *table, size_t room, const void *symbol) {
    size_t at = (uintptr_t)symbol * 0x9e3779b97f4a7c15u >> 20 & (room - 1);
    while (table[at].symbol && table[at].symbol != symbol) at = (at + 1) & (room - 1);
    return &table[at];
}

static bool add(struct entry entry) {
    bool added = true;
    pthread_mutex_lock(&symbols.lock);
    if (2 * symbols.count >= symbols.room) {
        size_t room = symbols.room ? 2 * symbols.room : 1024;
        struct entry *table = calloc(room, sizeof *table);
        for (size_t i = 0; table && i < symbols.room; i++)
            if (symbols.table[i].symbol) *slot(table, room, symbols.table[i].symbol) = symbols.table[i];
        if (table) {
            free(symbols.table);
            symbols.table = table;
            symbols.room = room;
        } else
            added = false;
    }
    if (added) {
        struct entry *at = slot(symbols.table, symbols.room, entry.symbol);
        symbols.count += !at->symbol;
        *at = entry;
    }
    pthread_mutex_unlock(&symbols.lock);
    return added;
}

static bool find(const void *symbol, struct entry *found) {
    bool known = false;
    pthread_mutex_lock(&symbols.lock);
    if (symbol && symbols.room) {
        *found = *slot(symbols.table, symbols.room, symbol);
        known = found->symbol;
    }
    pthread_mutex_unlock(&symbols.lock);
    return known;
}

/* What nvcc's code for the host calls before `main`, and at the end. */

API void **__cudaRegisterFatBinary(const struct wrapper *wrapper) {
    struct module *module = calloc(1, sizeof *module);
    if (!module) abort();
    pthread_mutex_init(&module->lock, NULL);
    if (wrapper->magic == WRAPPER_MAGIC) {
        module->fatbin = wrapper->data;
        if (wrapper->version == 2) module->prelinked = wrapper->prelinked;
    }
    return (void **)module;
}

API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* The process ends, or a library is unloaded: host functions may go, and what kernels use. */
API void __cudaUnregisterFatBinary(void **handle) {
    (void)handle;
    queue_stop();
}

API void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int limit, void *tid,
                                void *bid, void *block, void *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    struct module *module = (struct module *)handle;
    struct function *function = calloc(1, sizeof *function);
    struct function **list = realloc(module->functions, (module->function_count + 1) * sizeof *list);
    if (!function || !list) abort();
    module->functions = list;
    list[module->function_count++] = function;
    function->module = module;
    function->name = name;
    function->error = cudaErrorInvalidDeviceFunction;
    function->dynamic_limit = SHARED_LIMIT;
    add((struct entry){.symbol = host, .module = module, .function = function});
    add((struct entry){.symbol = function, .module = module, .function = function});
}

API void __cudaRegisterVar(void **handle, const void *host, const char *device, const char *name, int external,
                           size_t size, int constant, int global) {
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add((struct entry){.symbol = host, .module = (struct module *)handle, .variable = name});
}

API void __cudaRegisterHostVar(void **handle, const char *name, const void *host, size_t size) {
    (void)handle, (void)name, (void)host, (void)size;
}

/* The host has a pointer that leads to the variable. */
API void __cudaRegisterManagedVar(void **handle, void **host, const char *device, const char *name, int external,
                                  size_t size, int constant, int global) {
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add((struct entry){.symbol = host, .module = (struct module *)handle, .variable = name, .managed = host});
}

/* Reading a module. */

static struct buffer fatbin_bytes(const char *data) {
    int magic = 0;
    uint16_t header;
    uint64_t size;
    if (data) memcpy(&magic, data, sizeof magic);
    if (magic != FATBIN_MAGIC) return (struct buffer){NULL, 0};
    memcpy(&header, data + 6, sizeof header);
    memcpy(&size, data + 8, sizeof size);
    return (struct buffer){(char *)data, header + size};
}

static void add_fatbins(struct message *request, const struct module *module) {
    struct buffer own = fatbin_bytes(module->fatbin);
    if (own.data) message_add(request, own.data, own.size);
    for (size_t i = 0; module->prelinked && module->prelinked[i]; i++) {
        struct buffer part = fatbin_bytes(module->prelinked[i]);
        if (part.data) message_add(request, part.data, part.size);
    }
}

static cudaError_t make_scope(struct module *module, struct message *reply) {
    module->scope_bytes = (size_t)message_number(reply);
    struct buffer data = message_field(reply), pointers = message_field(reply);
    void *memory;
    if (reply->failed || posix_memalign(&memory, SCOPE_ALIGNMENT, module->scope_bytes)) return cudaErrorMemoryAllocation;
    module->scope = memory;
    memcpy(module->scope, data.data, data.size);
    memset(module->scope + data.size, 0, module->scope_bytes - data.size);
    for (size_t at = 0; at + 16 <= pointers.size; at += 16) {
        int64_t pair[2];
        memcpy(pair, pointers.data + at, sizeof pair);
        char *target = module->scope + pair[1];
        memcpy(module->scope + pair[0], &target, sizeof target);
    }
    block_add(module->scope, module->scope_bytes, DEVICE_MEMORY, 0);
    return cudaSuccess;
}

static struct function *function_named(const struct module *module, const char *name) {
    for (size_t i = 0; i < module->function_count; i++)
        if (!strcmp(module->functions[i]->name, name)) return module->functions[i];
    return NULL;
}

static void read_function(const struct module *module, struct message *reply) {
    char *name = message_text(reply);
    struct function unknown = {0}, *function = name ? function_named(module, name) : NULL;
    free(name);
    if (!function) function = &unknown;
    function->target = (size_t)message_number(reply);
    function->shared = (size_t)message_number(reply);
    function->thread_limit = (size_t)message_number(reply);
    for (int d = 0; d < 3; d++) function->required[d] = (size_t)message_number(reply);
    function->parameter_count = (size_t)message_number(reply);
    function->parameters = calloc(function->parameter_count + 1, sizeof *function->parameters);
    for (size_t i = 0; i < function->parameter_count && function->parameters; i++) {
        struct parameter *parameter = &function->parameters[i];
        parameter->size = (size_t)message_number(reply);
        parameter->align = (size_t)message_number(reply);
        parameter->is_record = message_number(reply);
    }
    function->error = function->parameters ? cudaSuccess : cudaErrorMemoryAllocation;
    if (function == &unknown) free(unknown.parameters);
}

static cudaError_t understand(struct module *module, struct message *reply) {
    cudaError_t error = (cudaError_t)message_number(reply);
    char *text = message_text(reply);
    if (error) {
        say("%s", text);
        free(text);
        return error;
    }
    free(text);
    struct buffer blob = message_field(reply);
    module->blob.data = malloc(blob.size + 1);
    if (!module->blob.data) return cudaErrorMemoryAllocation;
    memcpy(module->blob.data, blob.data, blob.size);
    module->blob.size = blob.size;
    error = make_scope(module, reply);
    if (error) return error;
    module->variable_count = (size_t)message_number(reply);
    module->variables = calloc(module->variable_count + 1, sizeof *module->variables);
    for (size_t i = 0; i < module->variable_count && module->variables; i++) {
        struct variable *variable = &module->variables[i];
        variable->name = message_text(reply);
        variable->offset = (size_t)message_number(reply);
        variable->size = (size_t)message_number(reply);
    }
    size_t functions = (size_t)message_number(reply);
    for (size_t i = 0; i < functions && !reply->failed; i++) read_function(module, reply);
    return reply->failed ? cudaErrorUnknown : cudaSuccess;
}

static cudaError_t ask(struct module *module) {
    struct message request = {0}, reply;
    message_add_text(&request, "load");
    add_fatbins(&request, module);
    bool answered = compiler_ask(&request, &reply);
    free(request.data);
    if (!answered) return cudaErrorInitializationError;
    cudaError_t error = understand(module, &reply);
    free(reply.data);
    return error;
}

static cudaError_t module_load(struct module *module) {
    pthread_mutex_lock(&module->lock);
    if (!module->loaded) {
        module->loaded = true;
        module->error = ask(module);
    }
    pthread_mutex_unlock(&module->lock);
    return module->error;
}

/* Managed variables are there when `main` begins. */
API char __cudaInitModule(void **handle) {
    struct module *module = (struct module *)handle;
    if (module_load(module)) return 0;
    for (size_t i = 0; i < symbols.room; i++) {
        struct entry *entry = &symbols.table[i];
        if (!entry->symbol || entry->module != module || !entry->managed) continue;
        size_t size;
        char *data;
        if (variable_find(entry->symbol, &data, &size)) continue;
        *entry->managed = data;
    }
    return 1;
}

cudaError_t function_find(const void *handle, struct function **found) {
    struct entry entry;
    if (!find(handle, &entry) || !entry.function) return cudaErrorInvalidDeviceFunction;
    cudaError_t error = module_load(entry.module);
    *found = entry.function;
    return error ? error : entry.function->error;
}

cudaError_t variable_find(const void *symbol, char **data, size_t *size) {
    struct entry entry;
    if (!find(symbol, &entry) || !entry.variable) return cudaErrorInvalidSymbol;
    cudaError_t error = module_load(entry.module);
    if (error) return error;
    for (size_t i = 0; i < entry.module->variable_count; i++) {
        const struct variable *variable = &entry.module->variables[i];
        if (!variable->name || strcmp(variable->name, entry.variable)) continue;
        *data = entry.module->scope + variable->offset;
        *size = variable->size;
        return cudaSuccess;
    }
    return cudaErrorInvalidSymbol;
}

/* Code. It is made once for each kind of launch, and found again without the compiler. */

/* `any` is the code for rows of any length, if there is one. */
static cudaError_t ask_for_code(const struct function *function, struct prepared *code, const struct prepared *any) {
    struct message request = {0}, reply;
    message_add_text(&request, "prepare");
    message_add(&request, function->module->blob.data, function->module->blob.size);
    message_add_text(&request, function->name);
    for (int d = 0; d < 3; d++) message_add_number(&request, code->block[d]);
    message_add_number(&request, code->large);
    message_add_number(&request, code->apart);
    if (any) message_add_lengths(&request, &any->code, &code->known);
    bool answered = compiler_ask(&request, &reply);
    free(request.data);
    if (!answered) return cudaErrorInitializationError;
    int64_t status;
    bool loaded = code_read(&reply, function->name, &code->code, &status);
    if (loaded) {
        code->assertion_count = (size_t)message_number(&reply);
        code->assertions = calloc(code->assertion_count + 1, sizeof *code->assertions);
        for (size_t i = 0; i < code->assertion_count && code->assertions; i++)
            code->assertions[i] = message_text(&reply);
    }
    free(reply.data);
    return loaded ? cudaSuccess : status ? (cudaError_t)status : cudaErrorInvalidKernelImage;
}

static struct prepared *prepare_kind(struct function *function, const struct launch_kind *kind,
                                     const struct prepared *any) {
    struct prepared *code = function->prepared;
    while (code && !(code->large == kind->large && code->apart == kind->apart &&
                     !memcmp(code->block, kind->block, sizeof code->block) &&
                     !memcmp(&code->known, &kind->known, sizeof code->known)))
        code = code->next;
    if (!code && (code = calloc(1, sizeof *code))) {
        memcpy(code->block, kind->block, sizeof code->block);
        code->large = kind->large;
        code->apart = kind->apart;
        code->known = kind->known;
        code->error = ask_for_code(function, code, any);
        code->next = function->prepared;
        function->prepared = code;
    }
    return code;
}

cudaError_t function_prepare(struct function *function, struct launch_kind kind, const int64_t *slots,
                             uint64_t threads, const struct prepared **found) {
    pthread_mutex_lock(&function->module->lock);
    struct prepared *code = prepare_kind(function, &kind, NULL);
    if (code && !code->error) {
        kind.known = code_lengths(&code->code, slots, function->parameter_count, threads);
        if (are_known(&kind.known)) code = prepare_kind(function, &kind, code);
    }
    pthread_mutex_unlock(&function->module->lock);
    *found = code;
    return code ? code->error : cudaErrorMemoryAllocation;
}
