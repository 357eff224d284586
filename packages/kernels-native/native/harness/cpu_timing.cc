#include "cpu_timing.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <thread>

#include "cpu_check.h"

namespace vd::harness {
namespace {

constexpr double kMinSeconds = 0.15;

using Clock = std::chrono::steady_clock;

/** Seconds that the process computed: what a run costs on one thread even when the machine has other work. */
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

__attribute__((target("avx512f"))) double chains_avx512(int64_t rounds) {
  __m512 v[10];
  const __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
  for (int i = 0; i < 10; ++i) v[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 10
    for (int i = 0; i < 10; ++i) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+v"(v[i]) : "v"(x), "v"(y));
  }
  return 10.0 * 32 * static_cast<double>(rounds);
}

__attribute__((target("avx2,fma"))) double chains_avx2(int64_t rounds) {
  __m256 v[10];
  const __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
  for (int i = 0; i < 10; ++i) v[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 10
    for (int i = 0; i < 10; ++i) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+x"(v[i]) : "x"(x), "x"(y));
  }
  return 10.0 * 16 * static_cast<double>(rounds);
}

/** Runs a row until time is up and prints its best run. */
class Timer {
 public:
  Timer(cpu::Isa isa, std::string filter, int threads)
      : isa_(isa), filter_(std::move(filter)), peak_(threads * peak_gflops(isa)), pool_(threads) {}

  cpu::Isa isa() const { return isa_; }
  bool wants(const std::string& name) const { return name.find(filter_) != std::string::npos; }
  double peak() const { return peak_; }
  cpu::PackCache& cache() { return cache_; }

  void time(const std::string& name, double flops, double bytes, cpu::PreparedRow& row) {
    ScratchBlocks blocks(pool_.threads(), row.scratch_bytes());
    double best = 1e9;
    row.run(pool_, blocks.scratch());
    const auto start = Clock::now();
    for (int i = 0; i < 5 || seconds_since(start) < kMinSeconds; ++i) {
      const auto one = Clock::now();
      const double before = cpu_seconds();
      row.run(pool_, blocks.scratch());
      best = std::min(best, pool_.threads() == 1 ? cpu_seconds() - before : seconds_since(one));
    }
    std::printf("%-44s %9.1f us %8.1f GFLOP/s %5.0f %% %6.1f GB/s\n", name.c_str(), best * 1e6, flops / best * 1e-9,
                flops / best * 1e-7 / peak_, bytes / best * 1e-9);
  }

 private:
  cpu::Isa isa_;
  std::string filter_;
  double peak_;
  cpu::PackCache cache_;
  cpu::ThreadPool pool_;
};

TestTensor random_tensor(std::vector<int64_t> dims, DType type = DType::f32) {
  static Random random(3);
  TestTensor t(std::move(dims), type, 0);
  const int64_t cycle = std::min<int64_t>(t.view.count(), 4093);
  std::vector<double> values(static_cast<size_t>(cycle));
  for (double& v : values) v = random.normal();
  const int64_t channels = t.view.channels();
  for (int64_t p = 0; p < t.view.pixels(); ++p) {
    for (int64_t c = 0; c < channels; ++c) t.put(p, c, values[static_cast<size_t>((p * channels + c) % cycle)]);
  }
  t.view.constant = true;
  return t;
}

double size_of(const TestTensor& t) { return 4.0 * static_cast<double>(t.view.count()); }

void time_conv(Timer& timer, const std::string& name, std::vector<int64_t> x, int64_t k, std::vector<int64_t> kernel,
               bool upsample = false, int64_t stride = 1, DType type = DType::f16) {
  if (!timer.wants(name)) return;
  TestTensor in = random_tensor(x);
  TestTensor weight = random_tensor({k, x[4], kernel[0], kernel[1], kernel[2]}, type), bias = random_tensor({k});
  const int64_t grow = upsample ? 2 : 1;
  TestTensor y = random_tensor({x[0], x[1], x[2] * grow / stride, x[3] * grow / stride, k});
  ConvArgs a{};
  a.x = in.view;
  a.weight = weight.view;
  a.bias = bias.view;
  a.y = y.view;
  a.stride[0] = 1;
  a.stride[1] = a.stride[2] = stride;
  for (int axis = 0; axis < 3; ++axis) {
    a.padding[2 * axis + 1] = kernel[static_cast<size_t>(axis)] / 2;
    a.padding[2 * axis] = kernel[static_cast<size_t>(axis)] / 2 - (axis > 0 && stride == 2 ? 1 : 0);
  }
  a.upsample = upsample;
  a.outScale = 1;
  const double flops = 2.0 * static_cast<double>(y.view.count() * x[4] * kernel[0] * kernel[1] * kernel[2]);
  const auto row = cpu::prepare_conv(a, timer.cache(), timer.isa());
  timer.time(name, flops, size_of(in) + size_of(y), *row);
}

void time_linear(Timer& timer, const std::string& name, int64_t m, int64_t c, int64_t n,
                 Activation act = Activation::none, DType type = DType::f16) {
  if (!timer.wants(name)) return;
  const int64_t k = act == Activation::geglu ? n / 2 : n;
  TestTensor x = random_tensor({1, 1, m, c}), weight = random_tensor({n, c}, type), bias = random_tensor({n});
  TestTensor y = random_tensor({1, 1, m, k}), residual = random_tensor({1, 1, m, k});
  LinearArgs a{};
  a.x = x.view;
  a.weight = weight.view;
  a.bias = bias.view;
  if (act == Activation::none && c == n) a.residual = residual.view;
  a.y = y.view;
  a.act = act;
  a.outScale = a.residualScale = 1;
  const auto row = cpu::prepare_linear(a, timer.cache(), timer.isa());
  timer.time(name, 2.0 * static_cast<double>(m * c * n), size_of(x) + size_of(y), *row);
}

void time_attention(Timer& timer, const std::string& name, int64_t b, int64_t f, int64_t s, int64_t heads, int64_t dim,
                    bool overTime) {
  if (!timer.wants(name)) return;
  TestTensor q = random_tensor({b, f, s, heads * dim}), k = random_tensor({b, f, s, heads * dim});
  TestTensor v = random_tensor({b, f, s, heads * dim}), y = random_tensor({b, f, s, heads * dim});
  AttentionArgs a{};
  a.q = q.view;
  a.k = k.view;
  a.v = v.view;
  a.y = y.view;
  a.axis = overTime ? AttentionAxis::time : AttentionAxis::space;
  a.heads = heads;
  a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim)));
  const double flops = 4.0 * static_cast<double>(b * f * s * heads * dim * (overTime ? f : s));
  const auto row = cpu::prepare_attention(a, timer.cache(), timer.isa());
  timer.time(name, flops, 4 * size_of(q), *row);
}

void time_group_norm(Timer& timer, const std::string& name, std::vector<int64_t> dims, bool joinFrames) {
  if (!timer.wants(name)) return;
  TestTensor x = random_tensor(dims), y = random_tensor(dims), weight = random_tensor({dims[4]});
  GroupNormArgs a{};
  a.x = x.view;
  a.weight = weight.view;
  a.bias = weight.view;
  a.y = y.view;
  a.groups = 32;
  a.eps = 1e-5f;
  a.act = Activation::silu;
  a.joinFrames = joinFrames;
  const auto row = cpu::prepare_group_norm(a, timer.cache(), timer.isa());
  timer.time(name, 8.0 * static_cast<double>(x.view.count()), 3 * size_of(x), *row);
}

void time_rest(Timer& timer) {
  if (timer.wants("layer_norm 7168x64")) {
    TestTensor x = random_tensor({1, 1, 7168, 64}), y = random_tensor({1, 1, 7168, 64}), weight = random_tensor({64});
    const LayerNormArgs a{x.view, weight.view, weight.view, y.view, 1e-5f};
    const auto row = cpu::prepare_layer_norm(a, timer.cache(), timer.isa());
    timer.time("layer_norm 7168x64", 8.0 * 7168 * 64, 2 * size_of(x), *row);
  }
  if (timer.wants("pointwise silu 7168x64")) {
    TestTensor x = random_tensor({1, 1, 7168, 64}), y = random_tensor({1, 1, 7168, 64});
    PointwiseArgs a{};
    a.a = x.view;
    a.b = x.view;
    a.y = y.view;
    a.aScale = a.bScale = 1;
    a.act = Activation::silu;
    const auto row = cpu::prepare_pointwise(a, timer.cache(), timer.isa());
    timer.time("pointwise silu 7168x64", 4.0 * 7168 * 64, 3 * size_of(x), *row);
  }
}

}  // namespace

double peak_gflops(cpu::Isa isa) {
  if (isa == cpu::Isa::plain) return peak_gflops(cpu::Isa::avx2) / 4;
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const double before = cpu_seconds();
    const double flops = isa == cpu::Isa::avx2 ? chains_avx2(3000000) : chains_avx512(3000000);
    best = std::max(best, flops / (cpu_seconds() - before) * 1e-9);
  }
  return best;
}

void time_all(cpu::Isa isa, const std::string& filter, int threads) {
  Timer timer(isa, filter, threads);
  std::printf("%s, %d threads, fp32 multiply-add peak %.0f GFLOP/s\n", cpu::isa_name(isa), threads, timer.peak());
  const std::vector<int64_t> k333{1, 3, 3}, k311{3, 1, 1};
  time_conv(timer, "unet conv3x3 28x16x16 64->64", {2, 14, 16, 16, 64}, 64, k333);
  time_conv(timer, "unet conv3x3 28x16x16 128->64", {2, 14, 16, 16, 128}, 64, k333);
  time_conv(timer, "unet conv3x3 28x16x16 8->64", {2, 14, 16, 16, 8}, 64, k333);
  time_conv(timer, "unet conv3x3 28x16x16 64->4", {2, 14, 16, 16, 64}, 4, k333);
  time_conv(timer, "unet conv3x3 s2 28x16x16 64->64", {2, 14, 16, 16, 64}, 64, k333, false, 2);
  time_conv(timer, "unet conv3x3 28x8x8 64->64", {2, 14, 8, 8, 64}, 64, k333);
  time_conv(timer, "unet conv3x3 28x4x4 128->128", {2, 14, 4, 4, 128}, 128, k333);
  time_conv(timer, "unet conv3x3 28x4x4 256->128", {2, 14, 4, 4, 256}, 128, k333);
  time_conv(timer, "unet conv311 2x14x16x16 64->64", {2, 14, 16, 16, 64}, 64, k311);
  time_conv(timer, "unet conv311 2x14x8x8 64->64", {2, 14, 8, 8, 64}, 64, k311);
  time_conv(timer, "unet conv311 2x14x4x4 128->128", {2, 14, 4, 4, 128}, 128, k311);
  time_conv(timer, "unet up 28x8x8 64->64", {2, 14, 8, 8, 64}, 64, k333, true);
  time_linear(timer, "unet linear 7168 64->64", 7168, 64, 64);
  time_linear(timer, "unet linear 7168 64->192", 7168, 64, 192);
  time_linear(timer, "unet linear 7168 64->512 geglu", 7168, 64, 512, Activation::geglu);
  time_linear(timer, "unet linear 7168 256->64", 7168, 256, 64);
  time_linear(timer, "unet linear 28 256->64", 28, 256, 64);
  time_attention(timer, "unet attention b28 s256 d64", 2, 14, 256, 1, 64, false);
  time_attention(timer, "unet attention time b512 f14 d64", 2, 14, 256, 1, 64, true);
  time_group_norm(timer, "unet group_norm 28x16x16x64", {2, 14, 16, 16, 64}, false);
  time_group_norm(timer, "unet group_norm frames 2x14x16x16x64", {2, 14, 16, 16, 64}, true);
  time_rest(timer);
  time_conv(timer, "vae conv3x3 14x128x128 64->64", {1, 14, 128, 128, 64}, 64, k333);
  time_conv(timer, "vae conv3x3 14x64x64 64->64", {1, 14, 64, 64, 64}, 64, k333);
  time_conv(timer, "vae conv3x3 14x32x32 64->64", {1, 14, 32, 32, 64}, 64, k333);
  time_conv(timer, "vae conv3x3 14x16x16 64->64", {1, 14, 16, 16, 64}, 64, k333);
  time_conv(timer, "vae conv311 14x128x128 64->64", {1, 14, 128, 128, 64}, 64, k311);
  time_conv(timer, "vae conv311 14x32x32 64->64", {1, 14, 32, 32, 64}, 64, k311);
  time_conv(timer, "vae up 14x64x64 64->64", {1, 14, 64, 64, 64}, 64, k333, true);
  time_conv(timer, "vae conv3x3 14x128x128 64->3", {1, 14, 128, 128, 64}, 3, k333);
  time_conv(timer, "vae conv311 14x128x128 3->3", {1, 14, 128, 128, 3}, 3, k311);
  time_group_norm(timer, "vae group_norm 14x128x128x64", {1, 14, 128, 128, 64}, false);
  time_conv(timer, "svd conv3x3 2x72x128 320->320", {1, 2, 72, 128, 320}, 320, k333);
  time_conv(timer, "svd conv3x3 2x18x32 1280->1280", {1, 2, 18, 32, 1280}, 1280, k333);
  time_linear(timer, "svd linear 9216 320->2560 geglu", 9216, 320, 2560, Activation::geglu);
  time_linear(timer, "svd linear 9216 1280->320", 9216, 1280, 320);
  time_attention(timer, "svd attention s2304 h5 d64", 1, 1, 2304, 5, 64, false);
}

}  // namespace vd::harness
