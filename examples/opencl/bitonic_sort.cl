// One stage of a bitonic sort: pairs at a distance are put in order, ascending in every other stretch.
kernel void bitonic_stage(global uint *values, uint distance, uint length) {
  uint t = get_global_id(0);
  uint low = 2 * t - (t & (distance - 1)), high = low + distance;
  uint a = values[low], b = values[high];
  bool ascending = (low & length) == 0;
  if ((a > b) == ascending) {
    values[low] = b;
    values[high] = a;
  }
}
