/* A launch of a kernel, from the call to its end. */

#ifndef WEFT_OPENCL_LAUNCH_H
#define WEFT_OPENCL_LAUNCH_H

#include "compiler.h"

/* Launches are divided into at most so many parts; so many slots are behind those of the arguments. */
enum { PARTS = 8, HIDDEN_SLOTS = 20 };

/* A box of work-groups that are all alike. */
struct part {
    const struct prepared *code;
    size_t local[3], groups[3], first_group[3];
};

struct launch {
    struct kernel *kernel;
    size_t global[3], local[3], offset[3];
    cl_uint dimensions, part_count;
    struct part parts[PARTS];
    size_t local_bytes, argument_slots;
    /* Held until the launch is done. */
    cl_uint memory_count;
    struct memory **memories;
    int64_t slots[];
};

/* checked.c: whether launches are to be checked; and running a part so, unless that cannot be. */
bool launches_are_checked(void);
bool launch_check(struct launch *launch, const struct part *part, cl_int *status);

#endif
