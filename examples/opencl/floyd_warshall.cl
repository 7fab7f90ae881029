// Shortest ways through a graph, those over one node more at each launch, and over which node they go.
kernel void over_node(global uint *distance, global uint *way, uint nodes, uint node) {
  const uint x = get_global_id(0), y = get_global_id(1);
  const uint direct = distance[y * nodes + x];
  const uint indirect = distance[y * nodes + node] + distance[node * nodes + x];
  if (indirect < direct) {
    distance[y * nodes + x] = indirect;
    way[y * nodes + x] = node;
  }
}
