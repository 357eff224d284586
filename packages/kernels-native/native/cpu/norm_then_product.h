// A norm and the product behind it as one row: the fast paths of the two ops that it stands for.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "prepared.h"

namespace vd::cpu {

/** A norm whose result lies in memory of its own, as elements of type T, then a convolution or linear layer of that. */
template <class T> class NormThenProduct final : public PreparedRow {
 public:
  explicit NormThenProduct(size_t count) : normed_(count) {}

  T* normed() { return normed_.data(); }
  void set(std::unique_ptr<PreparedRow> norm, std::unique_ptr<PreparedRow> product) {
    norm_ = std::move(norm);
    product_ = std::move(product);
  }

  const char* name() const override { return product_->name(); }
  size_t scratch_bytes() const override { return std::max(norm_->scratch_bytes(), product_->scratch_bytes()); }
  size_t shared_bytes() const override { return std::max(norm_->shared_bytes(), product_->shared_bytes()); }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    norm_->run(pool, scratch);
    product_->run(pool, scratch);
  }

 private:
  std::vector<T> normed_;
  std::unique_ptr<PreparedRow> norm_, product_;
};

/** The row with its two parts; null where one of the two ops declines. */
template <class T>
std::unique_ptr<PreparedRow> joined(std::unique_ptr<NormThenProduct<T>> row, std::unique_ptr<PreparedRow> norm,
                                    std::unique_ptr<PreparedRow> product) {
  if (!norm || !product) return nullptr;
  row->set(std::move(norm), std::move(product));
  return row;
}

}  // namespace vd::cpu
