// Convolutions that normalise their source first (native/core/normed_conv.h) as the fast paths of the two ops that each stands for.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "../core/normed_conv.h"
#include "fast_paths.h"

namespace vd::cpu {

/** A norm whose result lies in memory of its own, as elements of type T, then the convolution of that. */
template <class T> class NormedConv final : public PreparedRow {
 public:
  explicit NormedConv(size_t count) : normed_(count) {}

  T* normed() { return normed_.data(); }
  void set(std::unique_ptr<PreparedRow> norm, std::unique_ptr<PreparedRow> conv) {
    norm_ = std::move(norm);
    conv_ = std::move(conv);
  }

  const char* name() const override { return conv_->name(); }
  size_t scratch_bytes() const override { return std::max(norm_->scratch_bytes(), conv_->scratch_bytes()); }
  size_t shared_bytes() const override { return std::max(norm_->shared_bytes(), conv_->shared_bytes()); }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    norm_->run(pool, scratch);
    conv_->run(pool, scratch);
  }

 private:
  std::vector<T> normed_;
  std::unique_ptr<PreparedRow> norm_, conv_;
};

/** The row with its two parts; null where one of the two ops declines. */
template <class T>
std::unique_ptr<PreparedRow> joined(std::unique_ptr<NormedConv<T>> row, std::unique_ptr<PreparedRow> norm,
                                    std::unique_ptr<PreparedRow> conv) {
  if (!norm || !conv) return nullptr;
  row->set(std::move(norm), std::move(conv));
  return row;
}

/** The row of a call that has statistics; null where one of the two ops declines. */
template <class Args> std::unique_ptr<PreparedRow> prepare_normed_conv(const Args& args, PackCache& cache, const Target& target) {
  auto row = std::make_unique<NormedConv<float>>(static_cast<size_t>(args.x.pixels() * args.weight.dims[1]));
  const Tensor x = normed_map(args, row->normed(), DType::f32);
  return joined(std::move(row), prepare_group_norm(as_group_norm(args, x), cache, target), prepare_conv(as_conv(args, x), cache, target));
}

}  // namespace vd::cpu
