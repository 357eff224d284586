#include "matmul_mma.h"

#include <utility>

namespace vd::cuda {
namespace {

struct MmaTile {
  const char* name;
  int tileM, tileN, threads;
};
constexpr MmaTile kMmaTiles[] = {{"m128n128", 128, 128, 256}, {"m64n64", 64, 64, 128}};
constexpr MmaTile kPlainTile = {"plain", 64, 64, 256};

/** A way to multiply on tensor cores; name: the kernels' infix. */
struct TensorCore {
  const char* name;
  DType type;    // of x
  int products;  // of tensor cores for one of the problem: float32 takes two where the weights have 16 bits, else three
};
constexpr TensorCore kTensorCores[] = {
    {"mma_f16", DType::f16, 1}, {"mma_bf16", DType::bf16, 1}, {"tf32x2", DType::f32, 2}, {"tf32x3", DType::f32, 3}};

Reason type_reason(DType wanted, DType type) {
  if (type == wanted) return {};
  if (wanted == DType::f16) return {"is for x of f16"};
  return {wanted == DType::bf16 ? "is for x of bf16" : "is for x of f32"};
}

/** Why a problem is not multiplied that way: weights of 16 bits are tf32 numbers, so that two products are exact. */
Reason core_reason(const MmaProblem& p, const TensorCore& core, const DeviceInfo& device) {
  const bool halves = is_16_bit(p.weightType);
  return first_of({type_reason(core.type, p.type), if_so(core.type != DType::f16, sm80_reason(device)),
                   if_so(core.products == 2 && !halves, {"is for weights of 16 bits"}),
                   if_so(core.products == 3 && halves, {"is for weights of 32 bits: in 16 bits two products are exact"}),
                   if_so(p.params.gated && p.params.columns % 16 != 0,
                         {"has gated activations for multiples of 8 columns, y has #", {p.params.columns / 2}})});
}

int64_t count_tiles(const device::MatmulMmaParams& p, const MmaTile& tile) {
  return ceil_div(p.columns, tile.tileN) * ceil_div(p.rows, tile.tileM);
}

/** Adds both tiles of a tensor core, the larger first where that gives every multiprocessor one. */
void add_tiles(const MmaProblem& p, const TensorCore& core, const DeviceInfo& device, Candidates& out) {
  const std::string prefix = p.op + "_" + core.name + "_";
  const char* suffix = p.unchunked ? "_scalar" : "";
  const bool small = count_tiles(p.params, kMmaTiles[0]) < device.numSms || p.params.columns <= 64;
  for (const MmaTile& tile : {kMmaTiles[small], kMmaTiles[!small]}) {
    out.add(mma_variant(p, prefix + tile.name + suffix, tile.threads, count_tiles(p.params, tile)));
    if (p.unchunked) out.reject({prefix, tile.name}, p.unchunked);
    else out.reject({prefix, tile.name, "_scalar"}, kScalarReason);
  }
}

}  // namespace

Variant mma_variant(const MmaProblem& problem, const std::string& symbol, int threads, int64_t blocks) {
  Variant variant = problem.base;
  Launch launch;
  launch.symbol = variant.name = symbol;
  launch.block = static_cast<uint32_t>(threads);
  launch.grid[0] = static_cast<uint32_t>(blocks);
  launch.set_params(problem.params);
  launch.relocations.push_back({offsetof(device::MatmulMmaParams, weights), problem.weights});
  variant.launches.push_back(std::move(launch));
  return variant;
}

void add_matmul_mma(const MmaProblem& p, const DeviceInfo& device, Candidates& out) {
  for (const TensorCore& core : kTensorCores)
    if (out.allows({p.op, "_", core.name, "_*"}, core_reason(p, core, device))) add_tiles(p, core, device, out);
  out.add(mma_variant(p, p.op + "_plain_" + type_name(p.type), kPlainTile.threads, count_tiles(p.params, kPlainTile)));
}

}  // namespace vd::cuda
