/* What the compiler says of kernels. */

#ifndef WEFT_OPENCL_COMPILER_H
#define WEFT_OPENCL_COMPILER_H

#include "objects.h"

/* How an argument comes to the kernel; numbered as in weft/opencl/compiler.py. */
enum passing { PASS_BUFFER, PASS_LOCAL, PASS_VALUE, PASS_RECORD, PASS_IMAGE, PASS_SAMPLER };

struct argument_facts {
    char *name, *type_name;
    cl_uint address, access;
    cl_bitfield qualifiers;
    enum passing passing;
    size_t size, align, element, lanes;
};

/* Code for launches of one kind. */
struct prepared {
    struct prepared *next;
    size_t local[3];
    bool large, placed, apart;
    struct known_lengths known;
    struct code code;
    /* Why there is none. */
    cl_int error;
};

struct kernel_facts {
    char *name, *attributes;
    struct argument_facts *arguments;
    cl_uint argument_count;
    size_t required[3];
    cl_ulong local_bytes, private_bytes;
    cl_uint sub_group_size;
    bool non_uniform;
    struct prepared *prepared;
};

struct argument {
    bool set;
    /* A memory object, or an address of shared virtual memory; bytes of local memory; or the value. */
    struct memory *memory;
    void *pointer;
    size_t bytes;
    struct sampler *sampler;
    char *value;
};

struct kernel {
    struct object object;
    struct context *context;
    struct program *program;
    struct kernel_facts *facts;
    struct argument *arguments;
};

/* kernel.c: whether a memory object is one that a parameter takes. */
bool memory_fits(const struct memory *memory, enum passing passing, const struct context *context);

#endif
