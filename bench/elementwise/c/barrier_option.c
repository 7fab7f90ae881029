#include "../../speed/c/barrier_option.c"
