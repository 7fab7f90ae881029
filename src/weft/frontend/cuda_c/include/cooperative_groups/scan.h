/* In cooperative_groups.h. */
#include "../cooperative_groups.h"
