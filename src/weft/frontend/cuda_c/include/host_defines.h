/* Every program has what this file declares: weft/cuda.h. */
