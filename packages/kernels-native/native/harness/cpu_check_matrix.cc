// Checks of conv and linear: random shapes with odd sizes, gaps, skewed weights and every epilogue term.
#include <algorithm>

#include "cpu_check.h"

namespace vd::harness {
namespace {

constexpr double kTolerance = 2e-6;

int64_t pick(Random& r, std::initializer_list<int64_t> values) {
  return values.begin()[static_cast<size_t>(r.uniform() * static_cast<double>(values.size()))];
}

bool chance(Random& r, double p) { return r.uniform() < p; }

DType pick_weight_type(Random& r) { return static_cast<DType>(pick(r, {0, 0, 1, 2})); }

/** Large weights are kept as f16 where they are that. */
DType pick_weight_type(Random& r, int64_t count) { return count > (1 << 20) ? DType::f16 : pick_weight_type(r); }

/** The tensors of an epilogue, kept alive for the check. */
struct EpilogueTensors {
  TestTensor bias, frameBias, residual, residual2, y;
  TestTensor start;  // what y holds before the run
  bool inPlace = false;
};

TestTensor filled(Random& r, std::vector<int64_t> dims, DType type, int64_t gap, int64_t skew, double scale = 1) {
  TestTensor t(std::move(dims), type, gap, skew);
  t.fill(r, scale);
  return t;
}

template <class Args>
void add_epilogue(Random& r, Args& a, EpilogueTensors& e, std::vector<int64_t> yDims, int64_t n) {
  e.y = TestTensor(yDims, DType::f32, pick(r, {0, 0, 3, 16}));
  a.y = e.y.view;
  const auto constant = [](TestTensor& t) {
    t.view.constant = true;
    return t.view;
  };
  if (chance(r, 0.7)) a.bias = constant(e.bias = filled(r, {n}, pick_weight_type(r), 0, 2 * pick(r, {0, 1})));
  if (chance(r, 0.3)) e.bias.view.constant = false, a.bias.constant = false;
  if (chance(r, 0.4)) {
    const int64_t clips = pick(r, {1, yDims[0]}), frames = pick(r, {1, yDims[1]});
    a.frameBias = (e.frameBias = filled(r, {clips, frames, n}, DType::f32, pick(r, {0, 5}), 0)).view;
  }
  a.outScale = chance(r, 0.3) ? 0.5f : 1.0f;
  a.residualScale = chance(r, 0.3) ? -0.75f : 1.0f;
  a.residual2Scale = 0.25f;
  if (chance(r, 0.2)) {
    e.inPlace = true;
    e.start = TestTensor(yDims, DType::f32, 0);
    e.start.fill(r);
    a.residual = e.y.view;
  } else if (chance(r, 0.4)) {
    a.residual = (e.residual = filled(r, yDims, DType::f32, pick(r, {0, 7}), 0)).view;
  }
  if (chance(r, 0.2)) a.residual2 = (e.residual2 = filled(r, yDims, DType::f32, pick(r, {0, 1}), 0)).view;
}

std::function<void()> reset_of(EpilogueTensors& e) {
  return [&e] {
    if (!e.inPlace) return e.y.poison();
    for (int64_t p = 0; p < e.y.view.pixels(); ++p) {
      for (int64_t c = 0; c < e.y.view.channels(); ++c) e.y.put(p, c, e.start.at(p, c));
    }
  };
}

struct ConvShape {
  int64_t b, f, h, w, c, k;
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[6];
  bool upsample;
};

int64_t out_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding) {
  return (size + padding - kernel) / stride + 1;
}

void check_one_conv(Checker& checker, Random& r, const ConvShape& s) {
  ConvArgs a{};
  const int64_t grow = s.upsample ? 2 : 1;
  const int64_t g = out_size(s.f, s.kernel[0], s.stride[0], s.padding[0] + s.padding[1]);
  const int64_t p = out_size(s.h * grow, s.kernel[1], s.stride[1], s.padding[2] + s.padding[3]);
  const int64_t q = out_size(s.w * grow, s.kernel[2], s.stride[2], s.padding[4] + s.padding[5]);
  if (g < 1 || p < 1 || q < 1) return;
  TestTensor x = filled(r, {s.b, s.f, s.h, s.w, s.c}, DType::f32, pick(r, {0, 0, 1, 16}), 0);
  const double fanIn = static_cast<double>(s.c * s.kernel[0] * s.kernel[1] * s.kernel[2]);
  TestTensor w = filled(r, {s.k, s.c, s.kernel[0], s.kernel[1], s.kernel[2]},
                        pick_weight_type(r, s.k * s.c * s.kernel[1] * s.kernel[2]), 0,
                        pick(r, {0, 0, 1, 2}), 1 / std::sqrt(fanIn));
  w.view.constant = true;
  a.x = x.view;
  a.weight = w.view;
  std::copy_n(s.stride, 3, a.stride);
  std::copy_n(s.padding, 6, a.padding);
  a.upsample = s.upsample;
  a.act = static_cast<Activation>(pick(r, {0, 0, 0, 1, 2, 3, 4}));
  EpilogueTensors e;
  add_epilogue(r, a, e, {s.b, g, p, q, s.k}, s.k);
  reset_of(e)();
  Check check;
  check.name = "conv b" + std::to_string(s.b) + " f" + std::to_string(s.f) + " " + std::to_string(s.h) + "x" +
               std::to_string(s.w) + " c" + std::to_string(s.c) + " k" + std::to_string(s.k) + " kernel " +
               std::to_string(s.kernel[0]) + std::to_string(s.kernel[1]) + std::to_string(s.kernel[2]) + " stride " +
               std::to_string(s.stride[0]) + std::to_string(s.stride[1]) + std::to_string(s.stride[2]) +
               (s.upsample ? " upsample" : "") + " act " + std::to_string(static_cast<int>(a.act));
  check.tolerance = kTolerance;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_conv(a, cache, isa); };
  check.reset = reset_of(e);
  check.outputs.push_back({&e.y, naive_conv(a)});
  check.inputs = {&x, &w};
  checker.run(check);
}

ConvShape random_conv(Random& r) {
  ConvShape s{};
  s.b = pick(r, {1, 1, 2});
  s.f = pick(r, {1, 2, 3, 5});
  s.h = pick(r, {1, 3, 4, 5, 8, 9});
  s.w = pick(r, {1, 4, 6, 8, 11, 16, 17, 20, 33});
  s.c = pick(r, {1, 3, 4, 8, 12, 16, 31, 32, 48, 64, 80});
  s.k = pick(r, {1, 3, 4, 8, 16, 20, 32, 40, 64, 72, 96});
  s.upsample = chance(r, 0.15);
  const int64_t kind = pick(r, {0, 0, 0, 1, 1, 2, 3, 4});
  for (int axis = 0; axis < 3; ++axis) {
    const bool spatial = axis > 0;
    s.kernel[axis] = kind == 2 ? 3 : pick(r, {1, 2, 3, 5});
    if (kind == 0) s.kernel[axis] = spatial ? 3 : 1;
    if (kind == 1) s.kernel[axis] = spatial ? 1 : 3;
    if (kind == 4) s.kernel[axis] = spatial ? pick(r, {4, 7}) : pick(r, {1, 2});
    s.stride[axis] = spatial && s.upsample ? 1 : kind == 4 && spatial ? s.kernel[axis] : pick(r, {1, 1, 1, 2});
    for (int side = 0; side < 2; ++side) {
      s.padding[2 * axis + side] = kind <= 2 && chance(r, 0.7) ? s.kernel[axis] / 2 : pick(r, {0, 0, 1, 2});
    }
  }
  return s;
}

/** `large`: weights that are not kept in f32. */
void check_one_linear(Checker& checker, Random& r, bool large) {
  const int64_t b = pick(r, {1, 2}), f = pick(r, {1, 3}), s = large ? 9 : pick(r, {1, 2, 5, 16, 33, 64, 130});
  const int64_t c = large ? 1050 : pick(r, {1, 4, 16, 31, 32, 64, 100, 320});
  const int64_t c2 = chance(r, 0.3) ? pick(r, {1, 8, 32, 64}) : 0;
  LinearArgs a{};
  a.act = static_cast<Activation>(pick(r, {0, 0, 0, 1, 2, 3, 4, 5, 5}));
  const int64_t k = large ? 1060 : pick(r, {1, 4, 16, 24, 32, 40, 64, 72, 96, 160});
  const int64_t n = a.act == Activation::geglu ? 2 * k : k;
  TestTensor x = filled(r, {b, f, s, c}, DType::f32, pick(r, {0, 0, 3, 16}), 0);
  TestTensor x2;
  if (c2) a.x2 = (x2 = filled(r, {b, f, s, c2}, DType::f32, pick(r, {0, 5}), 0)).view;
  TestTensor w = filled(r, {n, c + c2}, pick_weight_type(r, n * (c + c2)), pick(r, {0, 0, 2}), pick(r, {0, 0, 1, 2}),
                        1 / std::sqrt(static_cast<double>(c + c2)));
  w.view.constant = true;
  a.x = x.view;
  a.weight = w.view;
  EpilogueTensors e;
  add_epilogue(r, a, e, {b, f, s, k}, n);
  reset_of(e)();
  Check check;
  check.name = "linear b" + std::to_string(b) + " f" + std::to_string(f) + " s" + std::to_string(s) + " c" +
               std::to_string(c) + "+" + std::to_string(c2) + " k" + std::to_string(k) + " act " +
               std::to_string(static_cast<int>(a.act));
  check.tolerance = kTolerance;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_linear(a, cache, isa); };
  check.reset = reset_of(e);
  check.outputs.push_back({&e.y, naive_linear(a)});
  check.inputs = {&x, &w};
  checker.run(check);
}

}  // namespace

void check_conv(Checker& checker, Random& r, int count) {
  const ConvShape fixed[] = {
      {1, 2, 16, 16, 64, 64, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {2, 3, 4, 4, 128, 128, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {1, 14, 4, 4, 64, 64, {3, 1, 1}, {1, 1, 1}, {1, 1, 0, 0, 0, 0}, false},
      {1, 1, 16, 16, 64, 64, {1, 3, 3}, {1, 2, 2}, {0, 0, 0, 1, 0, 1}, false},
      {1, 2, 8, 8, 128, 64, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, true},
      {1, 1, 28, 42, 3, 16, {1, 14, 14}, {1, 14, 14}, {0, 0, 0, 0, 0, 0}, false},
      {1, 1, 64, 64, 3, 40, {1, 32, 32}, {1, 32, 32}, {0, 0, 0, 0, 0, 0}, false},
      {1, 2, 9, 14, 8, 64, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {1, 2, 9, 40, 64, 3, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {1, 4, 8, 9, 3, 3, {3, 1, 1}, {1, 1, 1}, {1, 1, 0, 0, 0, 0}, false},
      {1, 3, 9, 16, 32, 32, {3, 7, 7}, {1, 1, 1}, {2, 0, 3, 3, 3, 3}, false},
      {1, 1, 9, 16, 320, 320, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {1, 1, 3, 17, 640, 352, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false},
      {1, 1, 5, 6, 640, 352, {1, 3, 3}, {1, 2, 2}, {0, 0, 1, 1, 1, 1}, false},
  };
  for (const ConvShape& shape : fixed) check_one_conv(checker, r, shape);
  for (int i = 0; i < count; ++i) check_one_conv(checker, r, random_conv(r));
}

void check_linear(Checker& checker, Random& r, int count) {
  for (int i = 0; i < count; ++i) check_one_linear(checker, r, i % 16 == 0);
}

}  // namespace vd::harness
