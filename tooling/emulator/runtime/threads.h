// The threads of a cluster of blocks, as fibers of one thread of the host: each runs until it waits for others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace vd::emulator {

struct Dim3 {
  uint32_t x = 0, y = 0, z = 0;
};

/** Shared memory of a block: its window in the addresses that the cluster's blocks have in common. */
inline constexpr uint32_t kWindowBits = 20, kWindowBytes = 1u << kWindowBits;
/** Where dynamic shared memory begins: the driver keeps the first KiB of Hopper's. */
inline constexpr uint32_t kFirstByte = 1024;

struct Fiber;

/** Those who wait for a number of arrivals, and how many have come. */
struct Barrier {
  uint32_t arrived = 0;
  std::vector<Fiber*> waiting;
};

/** An mbarrier: PTX ISA, "mbarrier". */
struct PhaseBarrier {
  uint32_t count = 0, pending = 0;
  int64_t bytes = 0;  // still expected of the copy engine
  uint32_t phase = 0;
  std::vector<Fiber*> waiting;
};

/** What threads bring to something that they do together. The last to come does it for all. */
struct Meeting {
  uint64_t members[2] = {}, arrived[2] = {};  // bits of up to 128 threads
  void* brought[128];
  std::vector<Fiber*> waiting;
};

struct Block {
  Dim3 index;
  uint32_t rank = 0, numThreads = 0, numLive = 0;
  Barrier barriers[16];
  std::vector<std::vector<Meeting>> warps;  // of each warp, by the threads that take part
  std::vector<Meeting> warpgroups;
};

struct Fiber {
  void* stack = nullptr;
  void* pointer = nullptr;  // of the stack, while it does not run
  Block* block = nullptr;
  uint32_t thread = 0;
  const char* waitsFor = nullptr;  // for messages
  bool done = false;
  uint32_t clusterPhase = 0;
};

/** A launch, in the driver's words. */
struct LaunchShape {
  uint32_t grid[3], block, cluster, sharedBytes;
};

struct Kernel {
  const char* name;
  size_t paramsBytes;
  uint32_t threads;  // at most
  void (*body)(const void* params);
};

/** Adds to the kernels of this library. Returns true. */
bool add_kernel(const Kernel& kernel);
/** Runs a kernel over all its blocks, cluster after cluster. Returns what went wrong, or nothing. */
std::string run(const Kernel& kernel, const LaunchShape& shape, const void* params);

/** What a library of kernels exports, as `emulator_library`. */
struct Library {
  const std::vector<Kernel>* kernels;
  std::string (*run)(const Kernel& kernel, const LaunchShape& shape, const void* params);
};

// ---- What the running thread asks for.

/** The window of the running thread's block in the cluster's shared memory. */
uint32_t window();
std::byte* shared_bytes(uint32_t address);
uint32_t shared_address_of(const void* pointer);
/** Where a block's variable lies that is declared at `place`; the same in all blocks of a cluster. */
void* static_shared(const void* place, size_t bytes, size_t alignment);
void* dynamic_shared();

/** Ends the launch with a message; does not return. */
[[noreturn]] void fail(const std::string& message);

void barrier_arrive(uint32_t id, uint32_t numThreads);
void barrier_wait(uint32_t id, uint32_t numThreads);
void block_barrier();

PhaseBarrier& phase_barrier(uint32_t address);
void phase_init(uint32_t address, uint32_t count);
void phase_arrive(uint32_t address, uint32_t count, int64_t bytes);
/** Some of the bytes that a phase expects have come. */
void phase_bytes(uint32_t address, int64_t bytes);
void phase_wait(uint32_t address, uint32_t parity);

void cluster_arrive();
void cluster_wait();
uint32_t cluster_rank();
uint32_t cluster_size();

/** Waits until all threads of `mask` in the warp, or of the warpgroup, have come here; the last runs together(brought), by lane. */
void meet_warp(uint32_t mask, void* mine, void (*together)(void* const* brought, uint32_t mask));
void meet_warpgroup(void* mine, void (*together)(void* const* brought));

}  // namespace vd::emulator
