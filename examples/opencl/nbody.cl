// How bodies pull at each other, and where they are a step later; x, y, z and mass.
kernel void move(global const float4 *place, global const float4 *speed, int count, float seconds, float softening,
                 local float4 *tile, global float4 *new_place, global float4 *new_speed) {
  const int l = get_local_id(0), items = get_local_size(0);
  const float4 own = place[get_global_id(0)];
  float4 pull = (float4)(0.0f);
  for (int first = 0; first < count; first += items) {
    tile[l] = place[first + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < items; k++) {
      const float4 way = tile[k] - own;
      const float inverse = rsqrt(way.x * way.x + way.y * way.y + way.z * way.z + softening);
      pull += tile[k].w * inverse * inverse * inverse * way;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  pull.w = 0;
  float4 next = own + speed[get_global_id(0)] * seconds + 0.5f * pull * seconds * seconds;
  next.w = own.w;
  new_place[get_global_id(0)] = next;
  new_speed[get_global_id(0)] = speed[get_global_id(0)] + pull * seconds;
}
