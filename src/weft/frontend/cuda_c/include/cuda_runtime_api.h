/* In weft/host.h. */
#include "weft/host.h"
