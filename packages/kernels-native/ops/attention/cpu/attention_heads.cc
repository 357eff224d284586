#include "attention_heads.h"

#include <cmath>

#include "../../../native/core/float_element.h"

namespace vd::cpu {
namespace {

void normalise(float* head, int64_t dim, const HeadTransform& t) {
  double squares = 0;
  for (int64_t d = 0; d < dim; ++d) squares += static_cast<double>(head[d]) * head[d];
  const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(dim) + t.eps));
  for (int64_t d = 0; d < dim; ++d) head[d] *= factor * load_element(t.norm.data, t.norm.dtype, d);
}

void rotate(float* head, int64_t place, const HeadTransform& t) {
  const int64_t numPairs = t.rotary.channels() / 2;
  const bool adjacent = t.pairs == RotaryPairs::adjacent;
  for (int64_t i = 0; i < numPairs; ++i) {
    const float cosine = load_element(t.rotary.data, DType::f32, place * t.rotary.pitch + 2 * i);
    const float sine = load_element(t.rotary.data, DType::f32, place * t.rotary.pitch + 2 * i + 1);
    float& a = head[adjacent ? 2 * i : i];
    float& b = head[adjacent ? 2 * i + 1 : i + numPairs];
    const float rotated = a * cosine - b * sine;
    b = a * sine + b * cosine;
    a = rotated;
  }
}

}  // namespace

void transform_heads(const Tensor& x, const HeadTransform& t, float* out, ThreadPool& pool) {
  const int64_t frames = x.dim(1), tokens = x.dim(2), channels = x.channels(), dim = channels / t.heads;
  pool.parallel_for(x.dim(0) * frames, [&](int64_t frame, int) {
    for (int64_t token = 0; token < tokens; ++token) {
      const int64_t pixel = frame * tokens + token, place = t.axis == AttentionAxis::time ? frame % frames : token;
      float* row = out + pixel * channels;
      for (int64_t c = 0; c < channels; ++c) row[c] = load_element(x.data, x.dtype, pixel * x.pitch + c);
      for (int64_t h = 0; h < t.heads; ++h) {
        if (t.norm.present()) normalise(row + h * dim, dim, t);
        if (t.rotary.present()) rotate(row + h * dim, place, t);
      }
    }
  });
}

}  // namespace vd::cpu
