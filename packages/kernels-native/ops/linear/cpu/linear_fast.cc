// Linear: chooses the engine.
#include "linear_fast.h"

#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/tile_epilogue.h"
#include "../../../native/cpu/widen.h"

namespace vd::cpu {
namespace {

/** Below this a tile of 16 rows is mostly empty and the weights' bandwidth decides. */
constexpr int64_t kMinAmxRows = 8;

}  // namespace

RowSource linear_rows(const Tensor& weight) {
  return [weight](int64_t n, float* row) { widen(weight, n * weight.pitch, weight.channels(), row); };
}

/** Declines weights that are not constant. */
std::unique_ptr<PreparedRow> prepare_linear(const LinearArgs& args, PackCache& cache, const Target& target) {
  if (!epilogue_supported(args) || !absent_or_f32(args.x2)) return nullptr;
  if constexpr (kHasAmx) {
    const amx::Engine engine = amx::engine_of(target);
    if (engine && args.y.pixels() >= kMinAmxRows) return make_linear_amx(args, cache, engine);
  }
  return make_linear_simd(args, cache, target.isa);
}

}  // namespace vd::cpu
