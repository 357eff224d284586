// The candidates behind prepare_linear.
#pragma once
#include <memory>

#include "../../../native/cpu/amx_kernels.h"
#include "../../../native/cpu/pack_cache.h"
#include "../../../native/cpu/panels.h"
#include "../../../native/cpu/prepared.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** Rows of a weight matrix [N, k]. */
RowSource linear_rows(const Tensor& weight);

/** On the SIMD matrix kernel. */
std::unique_ptr<PreparedRow> make_linear_simd(const LinearArgs& args, PackCache& cache, Isa isa);
/** On the AMX engine. */
std::unique_ptr<PreparedRow> make_linear_amx(const LinearArgs& args, PackCache& cache, const amx::Engine& engine);

}  // namespace vd::cpu
