/* Groups of threads: blocks, tiles of warps, and those of a warp that run. Grids meet when their kernel ends only. */
#ifndef WEFT_CUDA_COOPERATIVE_GROUPS_H
#define WEFT_CUDA_COOPERATIVE_GROUPS_H

#include "weft/cuda.h"

namespace cooperative_groups {

#define WEFT_MEMBER __device__ __attribute__((always_inline, convergent, nodebug))

class thread_block {
public:
  WEFT_MEMBER static void sync() { __syncthreads(); }
  WEFT_MEMBER static void barrier_wait() { __syncthreads(); }
  WEFT_MEMBER static dim3 group_index() { return blockIdx; }
  WEFT_MEMBER static dim3 thread_index() { return threadIdx; }
  WEFT_MEMBER static dim3 group_dim() { return blockDim; }
  WEFT_MEMBER static dim3 dim_threads() { return blockDim; }
  WEFT_MEMBER static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  WEFT_MEMBER static unsigned num_threads() { return size(); }
  WEFT_MEMBER static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
};
WEFT_MEMBER inline thread_block this_thread_block() { return thread_block(); }

/* Room that groups of several warps ask for on GPUs. */
template <unsigned __N> struct block_tile_memory {
  char room;
};
template <unsigned __N> WEFT_MEMBER inline thread_block this_thread_block(block_tile_memory<__N> &) {
  return thread_block();
}

extern "C" __device__ __attribute__((convergent)) void weft_grid_barrier(void) __asm__("weft.barrier.grid");

class grid_group {
public:
  WEFT_MEMBER static bool is_valid() { return true; }
  WEFT_MEMBER static void sync() { weft_grid_barrier(); }
  WEFT_MEMBER static unsigned long long size() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * thread_block::size();
  }
  WEFT_MEMBER static unsigned long long num_threads() { return size(); }
  WEFT_MEMBER static unsigned long long block_rank() {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  WEFT_MEMBER static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  WEFT_MEMBER static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  WEFT_MEMBER static dim3 group_dim() { return gridDim; }
};
WEFT_MEMBER inline grid_group this_grid() { return grid_group(); }

/* The threads of a warp that `members` names, in their order. */
class coalesced_group {
public:
  WEFT_MEMBER explicit coalesced_group(unsigned members) : members(members) {}
  WEFT_MEMBER void sync() const { __syncwarp(members); }
  WEFT_MEMBER unsigned size() const { return __popc(members); }
  WEFT_MEMBER unsigned num_threads() const { return size(); }
  WEFT_MEMBER unsigned thread_rank() const { return __popc(members & (weft_lane_bit() - 1)); }
  WEFT_MEMBER int any(int p) const { return __any_sync(members, p); }
  WEFT_MEMBER int all(int p) const { return __all_sync(members, p); }
  WEFT_MEMBER unsigned ballot(int p) const { return packed(__ballot_sync(members, p)); }
  WEFT_MEMBER unsigned packed(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (unsigned left = members; left; left &= left - 1, rank++)
      result |= (lanes >> __builtin_ctz(left) & 1) << rank;
    return result;
  }
  template <class __T> WEFT_MEMBER unsigned match_any(__T x) const { return packed(__match_any_sync(members, x)); }
  template <class __T> WEFT_MEMBER unsigned match_all(__T x, int &same) const {
    return packed(__match_all_sync(members, x, &same));
  }
  template <class __T> WEFT_MEMBER __T shfl(__T x, unsigned rank) const {
    return weft_shuffle(x, __fns(members, 0, (int)rank + 1));
  }
  template <class __T> WEFT_MEMBER __T shfl_down(__T x, unsigned n) const {
    const unsigned rank = thread_rank() + n;
    return weft_shuffle(x, rank < size() ? __fns(members, 0, (int)rank + 1) : weft_lane());
  }
  template <class __T> WEFT_MEMBER __T shfl_up(__T x, unsigned n) const {
    const unsigned rank = thread_rank();
    return weft_shuffle(x, rank >= n ? __fns(members, 0, (int)(rank - n) + 1) : weft_lane());
  }
  const unsigned members;
};
WEFT_MEMBER inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* `__N` consecutive threads of a warp. */
template <unsigned __N, class Parent = void> class thread_block_tile {
  static_assert(__N && __N <= 32 && !(__N & (__N - 1)), "a tile has a power of two of threads, up to 32");

public:
  thread_block_tile() = default;
  template <class __P> WEFT_MEMBER thread_block_tile(const thread_block_tile<__N, __P> &) {}
  WEFT_MEMBER static void sync() { __syncwarp(); }
  WEFT_MEMBER static constexpr unsigned size() { return __N; }
  WEFT_MEMBER static constexpr unsigned num_threads() { return __N; }
  WEFT_MEMBER static unsigned thread_rank() { return weft_lane() & (__N - 1); }
  WEFT_MEMBER static unsigned meta_group_rank() { return thread_block::thread_rank() / __N; }
  WEFT_MEMBER static unsigned meta_group_size() { return (thread_block::size() + __N - 1) / __N; }
  WEFT_MEMBER static unsigned members() { return (unsigned)((1ull << __N) - 1) << (weft_lane() & ~(__N - 1)); }
  WEFT_MEMBER static int any(int p) { return __N == 32 ? __any_sync(~0u, p) : (__ballot_sync(~0u, p) & members()) != 0; }
  WEFT_MEMBER static int all(int p) { return __N == 32 ? __all_sync(~0u, p) : (__ballot_sync(~0u, !p) & members()) == 0; }
  WEFT_MEMBER static unsigned ballot(int p) { return (__ballot_sync(~0u, p) & members()) >> (weft_lane() & ~(__N - 1)); }
  template <class __T> WEFT_MEMBER static unsigned match_any(__T x) {
    return (__match_any_sync(~0u, x) & members()) >> (weft_lane() & ~(__N - 1));
  }
  template <class __T> WEFT_MEMBER static unsigned match_all(__T x, int &same) {
    const unsigned matching = match_any(x), here = (__activemask() & members()) >> (weft_lane() & ~(__N - 1));
    same = matching == here;
    return same ? here : 0u;
  }
  template <class __T> WEFT_MEMBER static __T shfl(__T x, int lane) { return weft_shuffle(x, weft_lane_of(lane, __N)); }
  template <class __T> WEFT_MEMBER static __T shfl_up(__T x, unsigned n) { return weft_shuffle(x, weft_lane_before(n, __N)); }
  template <class __T> WEFT_MEMBER static __T shfl_down(__T x, unsigned n) { return weft_shuffle(x, weft_lane_behind(n, __N)); }
  template <class __T> WEFT_MEMBER static __T shfl_xor(__T x, unsigned n) { return weft_shuffle(x, weft_lane_across(n, __N)); }
};
template <unsigned __N, class Group>
WEFT_MEMBER inline thread_block_tile<__N, Group> tiled_partition(const Group &) {
  return thread_block_tile<__N, Group>();
}


/* The threads of a group that have the same label, or for which a condition holds as for this one. */
template <class Group> WEFT_MEMBER inline unsigned weft_members(const Group &) { return Group::members(); }
WEFT_MEMBER inline unsigned weft_members(const coalesced_group &group) { return group.members; }
template <class Group, class __T> WEFT_MEMBER inline coalesced_group labeled_partition(const Group &group, __T label) {
  return coalesced_group(__match_any_sync(weft_members(group) & __activemask(), label));
}
template <class Group> WEFT_MEMBER inline coalesced_group binary_partition(const Group &group, bool p) {
  const unsigned members = weft_members(group) & __activemask(), votes = __ballot_sync(members, p);
  return coalesced_group(p ? votes : members & ~votes);
}

/* A group of any kind: a block, or threads of a warp. */
class thread_group {
public:
  WEFT_MEMBER thread_group(const thread_block &) : members(0) {}
  WEFT_MEMBER thread_group(const coalesced_group &group) : members(group.members) {}
  template <unsigned __N, class __P>
  WEFT_MEMBER thread_group(const thread_block_tile<__N, __P> &tile) : members(tile.members() & __activemask()) {}
  WEFT_MEMBER void sync() const {
    if (members)
      __syncwarp(members);
    else
      __syncthreads();
  }
  WEFT_MEMBER unsigned size() const { return members ? __popc(members) : thread_block::size(); }
  WEFT_MEMBER unsigned num_threads() const { return size(); }
  WEFT_MEMBER unsigned thread_rank() const {
    return members ? __popc(members & (weft_lane_bit() - 1)) : thread_block::thread_rank();
  }
  const unsigned members;
};
/* Tiles of a size that is known when the kernel runs. */
WEFT_MEMBER inline thread_group tiled_partition(const thread_group &group, unsigned n) {
  const unsigned active = group.members ? group.members : __activemask();
  const unsigned rank = group.members ? __popc(active & (weft_lane_bit() - 1)) : weft_lane();
  unsigned members = 0;
  for (unsigned left = active; left; left &= left - 1) {
    const unsigned lane = __builtin_ctz(left), other = group.members ? __popc(active & ((1u << lane) - 1)) : lane;
    members |= other / n == rank / n ? 1u << lane : 0u;
  }
  return thread_group(coalesced_group(members));
}
WEFT_MEMBER inline coalesced_group tiled_partition(const coalesced_group &group, unsigned n) {
  return coalesced_group(tiled_partition(thread_group(group), n).members);
}

template <class Group> WEFT_MEMBER inline void sync(const Group &group) { group.sync(); }

/* A copy by all threads of a group, which is done before the call ends. */
template <class Group, class __T>
WEFT_MEMBER inline void memcpy_async(const Group &group, __T *to, const __T *from, size_t bytes) {
  for (size_t k = group.thread_rank(); k < bytes / sizeof(__T); k += group.size())
    to[k] = from[k];
}
template <class Group> WEFT_MEMBER inline void wait(const Group &group) { group.sync(); }
template <unsigned __N, class Group> WEFT_MEMBER inline void wait_prior(const Group &group) { group.sync(); }

template <class __T> struct plus {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return a + b; }
};
template <class __T> struct less {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return b < a ? b : a; }
};
template <class __T> struct greater {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return a < b ? b : a; }
};
template <class __T> struct bit_and {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return a & b; }
};
template <class __T> struct bit_or {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return a | b; }
};
template <class __T> struct bit_xor {
  WEFT_MEMBER __T operator()(__T a, __T b) const { return a ^ b; }
};
template <unsigned __N, class P, class __T, class __F>
WEFT_MEMBER inline __T reduce(const thread_block_tile<__N, P> &tile, __T x, __F f) {
  for (unsigned n = __N / 2; n; n /= 2)
    x = f(x, tile.shfl_xor(x, n));
  return x;
}
template <class __T, class __F> WEFT_MEMBER inline __T reduce(const coalesced_group &group, __T x, __F f) {
  return weft_warp_fold(group.members, x, f);
}
/* What the threads before this one have, and this one, in their order. */
template <class Group, class __T, class __F> WEFT_MEMBER inline __T inclusive_scan(const Group &group, __T x, __F f) {
  const unsigned rank = group.thread_rank();
  for (unsigned n = 1; n < group.size(); n *= 2) {
    const __T before = group.shfl_up(x, n);
    x = rank >= n ? f(before, x) : x;
  }
  return x;
}
template <class Group, class __T, class __F> WEFT_MEMBER inline __T exclusive_scan(const Group &group, __T x, __F f) {
  const __T before = group.shfl_up(inclusive_scan(group, x, f), 1);
  return group.thread_rank() ? before : __T();
}
template <class Group, class __T> WEFT_MEMBER inline __T inclusive_scan(const Group &group, __T x) {
  return inclusive_scan(group, x, plus<__T>());
}
template <class Group, class __T> WEFT_MEMBER inline __T exclusive_scan(const Group &group, __T x) {
  return exclusive_scan(group, x, plus<__T>());
}

#undef WEFT_MEMBER
} // namespace cooperative_groups

#endif
