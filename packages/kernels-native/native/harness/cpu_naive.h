// Every fast op once more as the formula in float64, and tensors that notice stray writes.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../cpu/weight_element.h"
#include "../generated/op_args.h"

namespace vd::harness {

/** A small linear congruential generator: the same cases on every machine. */
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  /** Uniform in [0, 1). */
  double uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  /** Roughly normal, mean 0, standard deviation 1. */
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

/** A tensor in memory of its own, with gaps between pixels and red zones on both sides, all filled with a pattern. */
class TestTensor {
 public:
  TestTensor() = default;
  /** `gap`: elements of pitch beyond the channels; `skew`: bytes off alignment. */
  TestTensor(std::vector<int64_t> dims, DType type, int64_t gap, int64_t skew = 0);
  void fill(Random& random, double scale = 1, double shift = 0);
  /** NaN everywhere inside, so that an element not written shows. */
  void poison();
  double at(int64_t pixel, int64_t channel) const;
  void put(int64_t pixel, int64_t channel, double value);
  /** True when nothing outside the elements changed. */
  bool intact() const;
  std::vector<double> values() const;
  Tensor view;

 private:
  std::vector<std::byte> storage_;
  int64_t offset_ = 0;
};

std::vector<double> naive_conv(const ConvArgs& args);
std::vector<double> naive_linear(const LinearArgs& args);
/** Also fills lse [B,F,heads,S] when asked. */
std::vector<double> naive_attention(const AttentionArgs& args, std::vector<double>* lse);
std::vector<double> naive_group_norm(const GroupNormArgs& args, std::vector<double>* stats);
std::vector<double> naive_layer_norm(const LayerNormArgs& args);
std::vector<double> naive_pointwise(const PointwiseArgs& args);

/** ‖got − want‖ / ‖want‖, infinite when something is not finite. */
double relative_l2(const std::vector<double>& got, const std::vector<double>& want);

}  // namespace vd::harness
