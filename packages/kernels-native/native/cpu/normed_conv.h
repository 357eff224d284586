// Convolutions that normalise their source first (native/core/normed_conv.h) as the fast paths of the two ops that each stands for.
#pragma once
#include <memory>
#include <utility>

#include "../core/normed_conv.h"
#include "fast_paths.h"
#include "norm_then_product.h"

namespace vd::cpu {

/** The row of a call that has statistics; null where one of the two ops declines. */
template <class Args> std::unique_ptr<PreparedRow> prepare_normed_conv(const Args& args, PackCache& cache, const Target& target) {
  auto row = std::make_unique<NormThenProduct<float>>(static_cast<size_t>(args.x.pixels() * args.weight.dims[1]));
  const Tensor x = normed_map(args, row->normed(), DType::f32);
  return joined(std::move(row), prepare_group_norm(as_group_norm(args, x), cache, target), prepare_conv(as_conv(args, x), cache, target));
}

}  // namespace vd::cpu
