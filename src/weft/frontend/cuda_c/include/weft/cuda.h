/* What every program sees before its first line: the language. The host's functions are in cuda_runtime.h. */
#include "language.h"

#include "integers.h"

#include "math.h"

#include "threads.h"
