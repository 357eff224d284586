#include "cpu_naive.h"

#include <algorithm>
#include <cstring>
#include <numbers>

namespace vd::harness {
namespace {

constexpr int64_t kRedZone = 256;
constexpr auto kPattern = std::byte{0xa5};

double element(const Tensor& t, int64_t pixel, int64_t channel) {
  return cpu::load_element(t.data, t.dtype, pixel * t.pitch + channel);
}

double activated(Activation act, double v) {
  switch (act) {
    case Activation::silu: return v / (1 + std::exp(-v));
    case Activation::gelu: return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    case Activation::quick_gelu: return v / (1 + std::exp(-1.702 * v));
    default: return v;
  }
}

double frame_bias(const Tensor& t, int64_t clip, int64_t frame, int64_t n) {
  if (!t.present()) return 0;
  return element(t, (t.dim(0) > 1 ? clip : 0) * t.dim(1) + (t.dim(1) > 1 ? frame : 0), n);
}

template <class Args>
double finished(const Args& a, double value, int64_t pixel, int64_t col) {
  value *= a.outScale;
  if (a.residual.present()) value += a.residualScale * element(a.residual, pixel, col);
  if (a.residual2.present()) value += a.residual2Scale * element(a.residual2, pixel, col);
  return value;
}

double conv_sum(const ConvArgs& a, int64_t b, int64_t g, int64_t p, int64_t q, int64_t n) {
  const Tensor& w = a.weight;
  const int64_t grow = a.upsample ? 2 : 1;
  double sum = 0;
  for (int64_t i = 0; i < w.dim(2); ++i) {
    for (int64_t j = 0; j < w.dim(3); ++j) {
      for (int64_t k = 0; k < w.dim(4); ++k) {
        const int64_t f = g * a.stride[0] + i - a.padding[0];
        const int64_t h = p * a.stride[1] + j - a.padding[2], x = q * a.stride[2] + k - a.padding[4];
        if (f < 0 || f >= a.x.dim(1) || h < 0 || h >= grow * a.x.dim(2) || x < 0 || x >= grow * a.x.dim(3)) continue;
        const int64_t pixel = ((b * a.x.dim(1) + f) * a.x.dim(2) + h / grow) * a.x.dim(3) + x / grow;
        for (int64_t c = 0; c < w.dim(1); ++c) {
          sum += element(a.x, pixel, c) * element(w, ((n * w.dim(1) + c) * w.dim(2) + i) * w.dim(3) + j, k);
        }
      }
    }
  }
  return sum;
}

double linear_sum(const LinearArgs& a, int64_t pixel, int64_t n) {
  double sum = a.bias.present() ? element(a.bias, 0, n) : 0;
  const int64_t c1 = a.x.channels();
  for (int64_t c = 0; c < a.weight.channels(); ++c) {
    sum += element(a.weight, n, c) * (c < c1 ? element(a.x, pixel, c) : element(a.x2, pixel, c - c1));
  }
  return sum + frame_bias(a.frameBias, pixel / (a.x.dim(1) * a.x.dim(2)), pixel / a.x.dim(2) % a.x.dim(1), n);
}

}  // namespace

TestTensor::TestTensor(std::vector<int64_t> dims, DType type, int64_t gap, int64_t skew) : offset_(kRedZone + skew) {
  view.dtype = type;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.pitch = dims.back() + gap;
  storage_.assign(static_cast<size_t>(view.pixels() * view.pitch * bytes_of(type) + 2 * kRedZone + skew), kPattern);
  // 64-byte alignment plus the skew, whatever the allocator gave.
  const auto address = reinterpret_cast<uintptr_t>(storage_.data()) + static_cast<uintptr_t>(kRedZone);
  offset_ = kRedZone - static_cast<int64_t>(address % 64) + skew;
  view.data = storage_.data() + offset_;
}

void TestTensor::put(int64_t pixel, int64_t channel, double value) {
  auto* at = static_cast<std::byte*>(view.data) + (pixel * view.pitch + channel) * bytes_of(view.dtype);
  const auto single = static_cast<float>(value);
  if (view.dtype == DType::f32) {
    std::memcpy(at, &single, 4);
  } else if (view.dtype == DType::i32) {
    const auto whole = static_cast<int32_t>(value);
    std::memcpy(at, &whole, 4);
  } else if (view.dtype == DType::u8) {
    *at = static_cast<std::byte>(value);
  } else {
    const uint16_t half = view.dtype == DType::f16 ? cpu::float_to_half(single) : cpu::float_to_bfloat16(single);
    std::memcpy(at, &half, 2);
  }
}

void TestTensor::fill(Random& random, double scale, double shift) {
  for (int64_t p = 0; p < view.pixels(); ++p) {
    for (int64_t c = 0; c < view.channels(); ++c) put(p, c, shift + scale * random.normal());
  }
}

void TestTensor::poison() {
  for (int64_t p = 0; p < view.pixels(); ++p) {
    for (int64_t c = 0; c < view.channels(); ++c) put(p, c, std::numeric_limits<double>::quiet_NaN());
  }
}

double TestTensor::at(int64_t pixel, int64_t channel) const { return element(view, pixel, channel); }

bool TestTensor::intact() const {
  const int64_t item = bytes_of(view.dtype);
  for (int64_t i = 0; i < static_cast<int64_t>(storage_.size()); ++i) {
    const int64_t from = i - offset_;
    const bool inside = from >= 0 && from < view.pixels() * view.pitch * item &&
                        from / item % view.pitch < view.channels();
    if (!inside && storage_[static_cast<size_t>(i)] != kPattern) return false;
  }
  return true;
}

std::vector<double> TestTensor::values() const {
  std::vector<double> all;
  for (int64_t p = 0; p < view.pixels(); ++p) {
    for (int64_t c = 0; c < view.channels(); ++c) all.push_back(at(p, c));
  }
  return all;
}

std::vector<double> naive_conv(const ConvArgs& a) {
  std::vector<double> y;
  int64_t pixel = 0;
  for (int64_t b = 0; b < a.y.dim(0); ++b) {
    for (int64_t g = 0; g < a.y.dim(1); ++g) {
      for (int64_t p = 0; p < a.y.dim(2); ++p) {
        for (int64_t q = 0; q < a.y.dim(3); ++q, ++pixel) {
          for (int64_t n = 0; n < a.y.dim(4); ++n) {
            double v = conv_sum(a, b, g, p, q, n) + frame_bias(a.frameBias, b, g, n);
            if (a.bias.present()) v += element(a.bias, 0, n);
            y.push_back(finished(a, activated(a.act, v), pixel, n));
          }
        }
      }
    }
  }
  return y;
}

std::vector<double> naive_linear(const LinearArgs& a) {
  std::vector<double> y;
  for (int64_t pixel = 0; pixel < a.y.pixels(); ++pixel) {
    for (int64_t n = 0; n < a.y.channels(); ++n) {
      double v = linear_sum(a, pixel, n);
      if (a.act == Activation::geglu) {
        v *= activated(Activation::gelu, linear_sum(a, pixel, n + a.y.channels()));
      } else {
        v = activated(a.act, v);
      }
      y.push_back(finished(a, v, pixel, n));
    }
  }
  return y;
}

std::vector<double> naive_group_norm(const GroupNormArgs& a, std::vector<double>* stats) {
  const int64_t c1 = a.x.channels(), channels = a.y.channels(), width = channels / a.groups;
  const int64_t regions = a.x.dim(0) * (a.joinFrames ? 1 : a.x.dim(1));
  const int64_t pixels = a.x.pixels() / regions;
  const auto at = [&](int64_t p, int64_t c) { return c < c1 ? element(a.x, p, c) : element(a.x2, p, c - c1); };
  std::vector<double> y(static_cast<size_t>(a.y.count()));
  for (int64_t r = 0; r < regions; ++r) {
    for (int64_t g = 0; g < a.groups; ++g) {
      double sum = 0, square = 0;
      const auto each = [&](auto&& fn) {
        for (int64_t p = r * pixels; p < (r + 1) * pixels; ++p) {
          for (int64_t c = g * width; c < (g + 1) * width; ++c) fn(p, c);
        }
      };
      each([&](int64_t p, int64_t c) { sum += at(p, c); });
      const double mean = sum / static_cast<double>(pixels * width);
      each([&](int64_t p, int64_t c) { square += (at(p, c) - mean) * (at(p, c) - mean); });
      const double rstd = 1 / std::sqrt(square / static_cast<double>(pixels * width) + a.eps);
      if (stats) stats->insert(stats->end(), {mean, rstd});
      each([&](int64_t p, int64_t c) {
        const double v = (at(p, c) - mean) * rstd * element(a.weight, 0, c) + element(a.bias, 0, c);
        y[static_cast<size_t>(p * channels + c)] = activated(a.act, v);
      });
    }
  }
  return y;
}

std::vector<double> naive_layer_norm(const LayerNormArgs& a) {
  std::vector<double> y;
  const auto count = static_cast<double>(a.x.channels());
  for (int64_t p = 0; p < a.x.pixels(); ++p) {
    double mean = 0, square = 0;
    for (int64_t c = 0; c < a.x.channels(); ++c) mean += element(a.x, p, c) / count;
    for (int64_t c = 0; c < a.x.channels(); ++c) square += std::pow(element(a.x, p, c) - mean, 2) / count;
    for (int64_t c = 0; c < a.x.channels(); ++c) {
      const double v = (element(a.x, p, c) - mean) / std::sqrt(square + a.eps);
      y.push_back(v * element(a.weight, 0, c) + element(a.bias, 0, c));
    }
  }
  return y;
}

std::vector<double> naive_pointwise(const PointwiseArgs& a) {
  std::vector<double> y;
  for (int64_t p = 0; p < a.y.pixels(); ++p) {
    const int64_t clip = p / (a.y.dim(1) * a.y.dim(2)), frame = p / a.y.dim(2) % a.y.dim(1);
    for (int64_t c = 0; c < a.y.channels(); ++c) {
      double v = a.aScale * element(a.a, p, c) + frame_bias(a.frameBias, clip, frame, c);
      if (a.b.present()) v += a.bScale * element(a.b, p, c) * (a.c.present() ? element(a.c, p, c) : 1);
      y.push_back(activated(a.act, v));
    }
  }
  return y;
}

double relative_l2(const std::vector<double>& got, const std::vector<double>& want) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i])) {
      if (got[i] == want[i]) continue;
      return std::numeric_limits<double>::infinity();
    }
    error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return got.size() != want.size() ? std::numeric_limits<double>::infinity()
         : norm > 0                ? std::sqrt(error / norm)
                                   : std::sqrt(error);
}

}  // namespace vd::harness
