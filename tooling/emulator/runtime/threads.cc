#include "threads.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>

extern "C" void vd_emulator_switch(void** from, void* to);
// Callee-saved registers of the System V ABI lie on the stack of the one that is left.
__asm__(
    ".text\n.type vd_emulator_switch,@function\nvd_emulator_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
    ".size vd_emulator_switch,.-vd_emulator_switch\n");

#include "builtins.h"

Dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace vd::emulator {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

/** One launch at a time: the driver calls from one thread after the other. */
struct Launch {
  LaunchShape shape;
  void (*body)(const void*);
  const void* params;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<std::byte> memory;
  std::unordered_map<const void*, uint32_t> variables;
  std::unordered_map<uint32_t, PhaseBarrier> phases;
  uint32_t usedBytes = 0;
  Barrier cluster;
  uint32_t clusterPhase = 0;
  std::deque<Fiber*> ready;
  void* scheduler = nullptr;
  std::string failure;
};

Launch* launch = nullptr;
Fiber* running = nullptr;
std::vector<void*> freeStacks;

void* take_stack() {
  if (!freeStacks.empty()) {
    void* stack = freeStacks.back();
    freeStacks.pop_back();
    return stack;
  }
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) abort();
  return stack;
}

void to_scheduler() { vd_emulator_switch(&running->pointer, launch->scheduler); }

void wait(std::vector<Fiber*>& queue, const char* what) {
  running->waitsFor = what;
  queue.push_back(running);
  to_scheduler();
}

void wake(std::vector<Fiber*>& queue) {
  for (Fiber* fiber : queue) launch->ready.push_back(fiber);
  queue.clear();
}

void enter_fiber() {
  launch->body(launch->params);
  running->done = true;
  Block& block = *running->block;
  --block.numLive;
  // Threads that have ended do not count at a block's barrier.
  if (block.barriers[0].arrived > 0 && block.barriers[0].arrived == block.numLive) {
    block.barriers[0].arrived = 0;
    wake(block.barriers[0].waiting);
  }
  to_scheduler();
  abort();
}

void prepare(Fiber& fiber) {
  fiber.stack = take_stack();
  auto** top = reinterpret_cast<void**>(static_cast<std::byte*>(fiber.stack) + kStackBytes - 64);
  *--top = nullptr;  // a frame without a caller, so that the stack is aligned as behind a call
  *--top = reinterpret_cast<void*>(&enter_fiber);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.pointer = top;
}

std::string place_of(const Fiber& fiber) {
  const Dim3& at = fiber.block->index;
  return "thread " + std::to_string(fiber.thread) + " of block (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
         std::to_string(at.z) + ")";
}

/** Which of the threads that could go on does. By EMULATOR_SEED, where that is set: another order shows what is not waited for. */
Fiber* next_ready() {
  static const char* seed = getenv("EMULATOR_SEED");
  static uint64_t state = seed != nullptr ? strtoull(seed, nullptr, 10) : 0;
  std::deque<Fiber*>& ready = launch->ready;
  if (seed != nullptr) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(ready.front(), ready[(state >> 33) % ready.size()]);
  }
  Fiber* fiber = ready.front();
  ready.pop_front();
  return fiber;
}

/** Runs threads until all have ended, nobody can go on or something has gone wrong. */
void schedule() {
  while (!launch->ready.empty() && launch->failure.empty()) {
    running = next_ready();
    threadIdx = {running->thread, 0, 0};
    blockIdx = running->block->index;
    vd_emulator_switch(&launch->scheduler, running->pointer);
  }
  if (!launch->failure.empty()) return;
  size_t numWaiting = 0;
  const Fiber* first = nullptr;
  for (const auto& fiber : launch->fibers) {
    if (fiber->done) continue;
    if (!first) first = fiber.get();
    ++numWaiting;
  }
  if (first) launch->failure = std::to_string(numWaiting) + " threads wait for ever, first " + place_of(*first) + " for " + first->waitsFor;
}

void run_cluster(uint32_t first, uint32_t y, uint32_t z) {
  const LaunchShape& shape = launch->shape;
  launch->blocks.clear();
  launch->fibers.clear();
  launch->variables.clear();
  launch->phases.clear();
  launch->ready.clear();
  launch->cluster = {};
  launch->clusterPhase = 0;
  launch->usedBytes = kFirstByte + shape.sharedBytes;
  // Nothing is there before it is written: NaN in every type of float.
  memset(launch->memory.data(), 0xFF, launch->memory.size());
  for (uint32_t rank = 0; rank < shape.cluster; ++rank) {
    auto block = std::make_unique<Block>();
    block->index = {first + rank, y, z};
    block->rank = rank;
    block->numThreads = block->numLive = shape.block;
    block->warps.resize((shape.block + 31) / 32);
    block->warpgroups.resize((shape.block + 127) / 128);
    for (uint32_t thread = 0; thread < shape.block; ++thread) {
      auto fiber = std::make_unique<Fiber>();
      fiber->block = block.get();
      fiber->thread = thread;
      prepare(*fiber);
      launch->ready.push_back(fiber.get());
      launch->fibers.push_back(std::move(fiber));
    }
    launch->blocks.push_back(std::move(block));
  }
  schedule();
  for (const auto& fiber : launch->fibers) freeStacks.push_back(fiber->stack);
}

}  // namespace

namespace {
/** Made when the first kernel registers itself. */
std::vector<Kernel>& kernels() {
  static std::vector<Kernel> all;
  return all;
}
}  // namespace

bool add_kernel(const Kernel& kernel) {
  kernels().push_back(kernel);
  return true;
}

std::string run(const Kernel& kernel, const LaunchShape& shape, const void* params) {
  Launch here;
  here.shape = shape;
  here.body = kernel.body;
  here.params = params;
  here.memory.resize(size_t{shape.cluster} << kWindowBits);
  launch = &here;
  blockDim = {shape.block, 1, 1};
  gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
  for (uint32_t z = 0; z < shape.grid[2]; ++z)
    for (uint32_t y = 0; y < shape.grid[1]; ++y)
      for (uint32_t x = 0; x < shape.grid[0] && here.failure.empty(); x += shape.cluster) run_cluster(x, y, z);
  launch = nullptr;
  return here.failure;
}

uint32_t window() { return running->block->rank << kWindowBits; }
std::byte* shared_bytes(uint32_t address) {
  if (address >= launch->memory.size()) fail("shared address " + std::to_string(address) + " is outside the cluster's memory");
  return launch->memory.data() + address;
}
uint32_t shared_address_of(const void* pointer) {
  const auto offset = static_cast<const std::byte*>(pointer) - launch->memory.data();
  if (offset < 0 || static_cast<size_t>(offset) >= launch->memory.size()) fail("the address of something that is not in shared memory");
  return static_cast<uint32_t>(offset);
}
void* static_shared(const void* place, size_t bytes, size_t alignment) {
  const auto [entry, added] = launch->variables.try_emplace(place, 0);
  if (added) {
    const auto step = static_cast<uint32_t>(alignment < 16 ? 16 : alignment);
    entry->second = (launch->usedBytes + step - 1) / step * step;
    launch->usedBytes = entry->second + static_cast<uint32_t>(bytes);
  }
  return launch->memory.data() + window() + entry->second;
}
void* dynamic_shared() { return launch->memory.data() + window() + kFirstByte; }

void fail(const std::string& message) {
  launch->failure = message + ", " + place_of(*running);
  to_scheduler();
  abort();
}

void barrier_arrive(uint32_t id, uint32_t numThreads) {
  Barrier& barrier = running->block->barriers[id];
  if (++barrier.arrived < numThreads) return;
  barrier.arrived = 0;
  wake(barrier.waiting);
}
void barrier_wait(uint32_t id, uint32_t numThreads) {
  Barrier& barrier = running->block->barriers[id];
  if (barrier.arrived + 1 == numThreads) return barrier_arrive(id, numThreads);
  ++barrier.arrived;
  wait(barrier.waiting, "a barrier of threads of its block");
}
void block_barrier() { barrier_wait(0, running->block->numLive); }

PhaseBarrier& phase_barrier(uint32_t address) {
  const auto found = launch->phases.find(address);
  if (found == launch->phases.end()) fail("an mbarrier that was not initialised at shared address " + std::to_string(address));
  return found->second;
}
void phase_init(uint32_t address, uint32_t count) {
  PhaseBarrier& barrier = launch->phases[address];
  barrier = {};
  barrier.count = barrier.pending = count;
}
namespace {
void complete(PhaseBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.phase ^= 1;
  barrier.pending = barrier.count;
  wake(barrier.waiting);
}
}  // namespace
void phase_arrive(uint32_t address, uint32_t count, int64_t bytes) {
  PhaseBarrier& barrier = phase_barrier(address);
  if (barrier.pending < count) fail("one arrival more than an mbarrier counts");
  barrier.bytes += bytes;
  barrier.pending -= count;
  complete(barrier);
}
void phase_bytes(uint32_t address, int64_t bytes) {
  PhaseBarrier& barrier = phase_barrier(address);
  barrier.bytes -= bytes;
  complete(barrier);
}
void phase_wait(uint32_t address, uint32_t parity) {
  PhaseBarrier& barrier = phase_barrier(address);
  // The phase of parity p has ended when the one under way has the other.
  while (barrier.phase == (parity & 1)) wait(barrier.waiting, "an mbarrier");
}

void cluster_arrive() {
  running->clusterPhase = launch->clusterPhase;
  if (++launch->cluster.arrived < launch->fibers.size()) return;
  launch->cluster.arrived = 0;
  ++launch->clusterPhase;
  wake(launch->cluster.waiting);
}
void cluster_wait() {
  if (running->clusterPhase == launch->clusterPhase) wait(launch->cluster.waiting, "the threads of its cluster");
}
uint32_t cluster_rank() { return running->block->rank; }
uint32_t cluster_size() { return launch->shape.cluster; }

void meet_warp(uint32_t mask, void* mine, void (*together)(void* const*, uint32_t)) {
  const uint32_t lane = running->thread % 32;
  auto& meetings = running->block->warps[running->thread / 32];
  const uint32_t there = running->block->numThreads - running->thread / 32 * 32;
  if (there < 32) mask &= (1u << there) - 1;
  if (!(mask >> lane & 1)) fail("a warp's instruction without the thread that runs it");
  size_t at = 0;
  while (at < meetings.size() && meetings[at].members[0] != mask) ++at;
  if (at == meetings.size()) meetings.push_back({{mask, 0}, {}, {}, {}});
  Meeting& meeting = meetings[at];
  meeting.brought[lane] = mine;
  meeting.arrived[0] |= uint64_t{1} << lane;
  if (meeting.arrived[0] != mask) return wait(meetings[at].waiting, "the other threads of its warp");
  meeting.arrived[0] = 0;
  together(meeting.brought, mask);
  wake(meetings[at].waiting);
}
void meet_warpgroup(void* mine, void (*together)(void* const*)) {
  Meeting& meeting = running->block->warpgroups[running->thread / 128];
  const uint32_t member = running->thread % 128;
  meeting.brought[member] = mine;
  meeting.arrived[member / 64] |= uint64_t{1} << member % 64;
  if (meeting.arrived[0] != ~uint64_t{0} || meeting.arrived[1] != ~uint64_t{0})
    return wait(meeting.waiting, "the other threads of its warpgroup");
  meeting.arrived[0] = meeting.arrived[1] = 0;
  together(meeting.brought);
  wake(meeting.waiting);
}

}  // namespace vd::emulator

extern "C" __attribute__((visibility("default"))) vd::emulator::Library emulator_library() {
  return {&vd::emulator::kernels(), &vd::emulator::run};
}
