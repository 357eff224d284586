// Run by threads.test.ts: kernels that do what only threads beside each other can, right and wrong, under the emulator's scheduler.
// threads CASE prints what the case found, or what went wrong.
#include <cstdio>
#include <string>

#include "../../emulator/runtime/kernel.cuh"
#include "../../emulator/runtime/ptx/mbarrier.cuh"

using namespace vd::emulator;

namespace {

struct Params {
  uint32_t* out;
};

/** The library of a kernel has one of these; here they are called by name. */
struct Case {
  const char* name;
  LaunchShape shape;
  void (*body)(const Params&);
};

uint32_t* shared_words() { return static_cast<uint32_t*>(dynamic_shared()); }

const Case kCases[] = {
    // Each warp writes what another reads.
    {"barrier",
     {{1, 1, 1}, 96, 1, 1024},
     [](const Params& p) {
       shared_words()[threadIdx.x] = threadIdx.x;
       __syncthreads();
       atomicAdd(p.out, shared_words()[95 - threadIdx.x]);
     }},
    {"without a barrier",
     {{1, 1, 1}, 64, 1, 1024},
     [](const Params& p) {
       shared_words()[threadIdx.x] = 1;
       if (threadIdx.x == 0) *p.out = shared_words()[63];
       __syncthreads();
     }},
    {"a barrier that half of the threads reach",
     {{1, 1, 1}, 64, 1, 0},
     [](const Params&) {
       if (threadIdx.x < 32) vd::device::ptx::named_barrier(1, 64);
     }},
    {"threads that have ended",
     {{1, 1, 1}, 64, 1, 0},
     [](const Params& p) {
       if (threadIdx.x >= 40) return;
       __syncthreads();
       atomicAdd(p.out, 1);
     }},
    {"lanes",
     {{1, 1, 1}, 32, 1, 0},
     [](const Params& p) {
       const uint32_t sum = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1) + __shfl_sync(0xffffffffu, threadIdx.x, 5);
       if (threadIdx.x == 8) *p.out = sum;
     }},
    {"some lanes",
     {{1, 1, 1}, 32, 1, 0},
     [](const Params& p) {
       if (threadIdx.x >= 16) return;
       const uint32_t from = __shfl_xor_sync(0x0000ffffu, threadIdx.x, 8);
       if (threadIdx.x == 0) *p.out = from;
     }},
    {"a lane that is not there", {{1, 1, 1}, 32, 1, 0}, [](const Params& p) { *p.out = __shfl_xor_sync(0x0000ffffu, threadIdx.x, 1); }},
    // The other block of the cluster waits until the first has written to it.
    {"cluster",
     {{2, 1, 1}, 32, 2, 1024},
     [](const Params& p) {
       using namespace vd::device;
       const uint32_t word = shared_address_of(shared_words());
       if (threadIdx.x == 0) ptx::mbarrier_init(word + 16, 1);
       ptx::cluster_arrive();
       ptx::cluster_wait();
       if (threadIdx.x == 0 && ptx::cluster_block_rank() == 0) {
         *reinterpret_cast<uint32_t*>(shared_bytes(ptx::map_to_block(word, 1))) = 7;
         ptx::mbarrier_arrive_cluster(ptx::map_to_block(word + 16, 1));
       }
       if (ptx::cluster_block_rank() != 1) return;
       ptx::mbarrier_wait(word + 16, 0);
       if (threadIdx.x == 31) *p.out = shared_words()[0];
     }},
    {"an mbarrier that nobody arrives at",
     {{1, 1, 1}, 32, 1, 1024},
     [](const Params&) {
       const uint32_t word = shared_address_of(shared_words());
       if (threadIdx.x == 0) vd::device::ptx::mbarrier_init(word, 1);
       __syncthreads();
       vd::device::ptx::mbarrier_wait(word, 0);
     }},
    {"an mbarrier without a beginning",
     {{1, 1, 1}, 32, 1, 1024},
     [](const Params&) { vd::device::ptx::mbarrier_arrive(shared_address_of(shared_words())); }},
    {"memory of others", {{1, 1, 1}, 1, 1, 16}, [](const Params&) { shared_bytes(1u << 30); }},
};

const Case* chosen = nullptr;

}  // namespace

int main(int, char** argv) {
  for (const Case& each : kCases)
    if (std::string(argv[1]) == each.name) chosen = &each;
  uint32_t out = 0;
  const Params params = {&out};
  const Kernel kernel = {chosen->name, sizeof params, 1024, [](const void* raw) { chosen->body(*static_cast<const Params*>(raw)); }};
  const std::string failure = run(kernel, chosen->shape, &params);
  if (failure.empty()) printf("%u", out);
  else printf("%s", failure.c_str());
}
