// Checks of attention, norms, pointwise and the activation functions.
#include <algorithm>
#include <cstdio>

#include "cpu_check.h"

namespace vd::harness {
namespace {

constexpr double kTolerance = 2e-6;
// Scores of a dozen make an error of 6e-8 in each of them ten times as large behind the exponential.
constexpr double kAttentionTolerance = 5e-6;

int64_t pick(Random& r, std::initializer_list<int64_t> values) {
  return values.begin()[static_cast<size_t>(r.uniform() * static_cast<double>(values.size()))];
}

bool chance(Random& r, double p) { return r.uniform() < p; }

TestTensor filled(Random& r, std::vector<int64_t> dims, DType type, int64_t gap, double scale = 1, double shift = 0) {
  TestTensor t(std::move(dims), type, gap);
  t.fill(r, scale, shift);
  return t;
}

struct AttentionShape {
  int64_t b, f, s, l, heads, dim;
  bool time, oneKeyFrame;
};

TestTensor random_mask(Random& r, const AttentionShape& s, DType type) {
  TestTensor mask({pick(r, {1, s.b}), pick(r, {1, s.heads}), s.s, s.l}, type, pick(r, {0, 3}));
  for (int64_t p = 0; p < mask.view.pixels(); ++p) {
    const bool none = chance(r, 0.05);
    for (int64_t c = 0; c < s.l; ++c) {
      if (type == DType::u8) {
        mask.put(p, c, !none && chance(r, 0.7) ? 1 : 0);
      } else {
        const double floor = none ? -std::numeric_limits<double>::infinity() : -65504;
        // One key stays free: among keys of -65504 alone even float32 sums of the scores are coarse.
        mask.put(p, c, none || (c > 0 && chance(r, 0.2)) ? floor : r.normal());
      }
    }
  }
  return mask;
}

/** Everything an attention check keeps alive. */
struct AttentionTensors {
  TestTensor q, k, v, y, lse, mask, cuQ, cuK;
  AttentionArgs args{};
};

void add_packing(AttentionTensors& t, const AttentionShape& s) {
  t.cuQ = TestTensor({5}, DType::i32, 0);
  t.cuK = TestTensor({5}, DType::i32, 0);
  // Sequences without queries, without keys, and of one key; and with enough queries some that belong to none.
  const int64_t outside = s.s > 8 ? 2 : 0;
  const int64_t cutsQ[] = {outside, outside, s.s / 2, s.s - 1 - outside, s.s - outside};
  const int64_t cutsK[] = {0, s.l / 3, s.l / 3, s.l - 1, s.l};
  for (int64_t i = 0; i < 5; ++i) {
    t.cuQ.put(0, i, static_cast<double>(cutsQ[i]));
    t.cuK.put(0, i, static_cast<double>(cutsK[i]));
  }
  t.args.cuQ = t.cuQ.view;
  t.args.cuK = t.cuK.view;
}

void make_attention(Random& r, const AttentionShape& s, bool packed, AttentionTensors& t) {
  AttentionArgs& a = t.args;
  const int64_t e = s.heads * s.dim;
  const int64_t keyFrames = s.time ? s.l : s.oneKeyFrame ? 1 : s.f, keyTokens = s.time ? s.s : s.l;
  a.q = (t.q = filled(r, {s.b, s.f, s.s, e}, DType::f32, pick(r, {0, 2 * e, 5}))).view;
  a.k = (t.k = filled(r, {s.b, keyFrames, keyTokens, e}, DType::f32, pick(r, {0, 2 * e, 5}))).view;
  a.v = (t.v = filled(r, {s.b, keyFrames, keyTokens, e}, DType::f32, pick(r, {0, 2 * e, 5}))).view;
  a.y = (t.y = TestTensor({s.b, s.f, s.s, e}, DType::f32, pick(r, {0, 9}))).view;
  a.lse = (t.lse = TestTensor({s.b, s.f, s.heads, s.s}, DType::f32, pick(r, {0, 3}))).view;
  a.axis = s.time ? AttentionAxis::time : AttentionAxis::space;
  a.heads = s.heads;
  a.scale = static_cast<float>((chance(r, 0.2) ? 4.0 : 1.0) / std::sqrt(static_cast<double>(s.dim)));
  a.causal = chance(r, 0.3);
  if (packed) add_packing(t, s);
  const bool masked = !packed && !s.time && chance(r, 0.4);
  if (masked) a.mask = (t.mask = random_mask(r, s, static_cast<DType>(pick(r, {0, 1, 4})))).view;
}

void check_one_attention(Checker& checker, Random& r, const AttentionShape& s, bool packed) {
  AttentionTensors t;
  make_attention(r, s, packed, t);
  const AttentionArgs& a = t.args;
  Check check;
  check.name = "attention b" + std::to_string(s.b) + " f" + std::to_string(s.f) + " s" + std::to_string(s.s) + " l" +
               std::to_string(s.l) + " heads " + std::to_string(s.heads) + " dim " + std::to_string(s.dim) +
               (s.time ? " time" : "") + (packed ? " packed" : "") + (a.causal ? " causal" : "") +
               (a.mask.present() ? " mask" : "");
  check.tolerance = kAttentionTolerance;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_attention(a, cache, isa); };
  check.reset = [&] {
    t.y.poison();
    t.lse.poison();
  };
  std::vector<double> wantLse;
  check.outputs.push_back({&t.y, naive_attention(a, &wantLse)});
  check.outputs.push_back({&t.lse, wantLse});
  check.inputs = {&t.q, &t.k, &t.v};
  checker.run(check);
}

/** Everything a group norm check keeps alive. */
struct NormTensors {
  TestTensor x, x2, weight, bias, y, stats;
  GroupNormArgs args{};
};

void make_group_norm(Random& r, double mean, NormTensors& t) {
  GroupNormArgs& a = t.args;
  a.groups = pick(r, {1, 2, 4, 8, 32});
  const int64_t channels = a.groups * pick(r, {1, 2, 3, 4});
  const int64_t c2 = chance(r, 0.3) && channels > 1 ? channels / 2 : 0, c1 = channels - c2;
  // Two or three values around 50 may lie so close together that a mean in float is coarse for them.
  const int64_t h = mean > 1 ? pick(r, {5, 16}) : pick(r, {1, 5, 16}), w = pick(r, {2, 7, 16});
  const int64_t b = pick(r, {1, 2}), f = pick(r, {1, 3});
  a.x = (t.x = filled(r, {b, f, h, w, c1}, DType::f32, pick(r, {0, 3}), 1, mean)).view;
  if (c2) a.x2 = (t.x2 = filled(r, {b, f, h, w, c2}, DType::f32, pick(r, {0, 3}), 2, -mean)).view;
  a.weight = (t.weight = filled(r, {channels}, static_cast<DType>(pick(r, {0, 1, 2})), 0)).view;
  a.bias = (t.bias = filled(r, {channels}, static_cast<DType>(pick(r, {0, 1, 2})), 0)).view;
  a.y = (t.y = TestTensor({b, f, h, w, channels}, DType::f32, pick(r, {0, 3}))).view;
  a.eps = 1e-5f;
  a.act = static_cast<Activation>(pick(r, {0, 1, 1}));
  a.joinFrames = chance(r, 0.5);
  t.stats = TestTensor({b, a.joinFrames ? 1 : f, a.groups, 2}, DType::f32, pick(r, {0, 1}));
}

/** First the whole, then the statistics, then the norm from those, which must be the same bits as the first. */
void check_group_norm(Checker& checker, Random& r, double mean) {
  NormTensors t;
  make_group_norm(r, mean, t);
  GroupNormArgs& a = t.args;
  std::vector<double> wantStats;
  const std::vector<double> want = naive_group_norm(a, &wantStats);
  const std::string about = " c" + std::to_string(a.x.channels()) + " of " + std::to_string(a.y.channels()) +
                            " groups " + std::to_string(a.groups) + " mean " + std::to_string(mean);
  Check check;
  check.tolerance = mean > 1 ? 1e-5 : kTolerance;
  check.inputs = {&t.x};
  check.name = "group_norm" + about;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_group_norm(a, cache, isa); };
  check.reset = [&] { t.y.poison(); };
  check.outputs = {{&t.y, want}};
  checker.run(check);
  const std::vector<double> whole = t.y.values();
  const GroupNormStatsArgs s{a.x, a.x2, t.stats.view, a.groups, a.eps, a.joinFrames};
  check.name = "group_norm_stats" + about;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_group_norm_stats(s, cache, isa); };
  check.reset = [&] { t.stats.poison(); };
  check.outputs = {{&t.stats, wantStats}};
  checker.run(check);
  a.stats = t.stats.view;
  check.name = "group_norm(stats)" + about;
  check.tolerance = 0;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa) { return cpu::prepare_group_norm(a, cache, cpu::best_isa()); };
  check.reset = [&] { t.y.poison(); };
  check.outputs = {{&t.y, whole}};
  checker.run(check);
}

void check_layer_norm(Checker& checker, Random& r, double mean) {
  LayerNormArgs a{};
  const int64_t c = pick(r, {1, 7, 16, 40, 64, 320});
  TestTensor x = filled(r, {2, 1, pick(r, {1, 9, 70}), c}, DType::f32, pick(r, {0, 3}), 0.5, mean);
  TestTensor weight = filled(r, {c}, static_cast<DType>(pick(r, {0, 1, 2})), 0);
  TestTensor bias = filled(r, {c}, DType::f32, 0);
  TestTensor y({2, 1, x.view.dim(2), c}, DType::f32, pick(r, {0, 3}));
  a = {x.view, weight.view, bias.view, y.view, 1e-5f};
  Check check;
  check.name = "layer_norm c" + std::to_string(c) + " mean " + std::to_string(mean);
  check.tolerance = mean > 1 ? 1e-5 : kTolerance;
  check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_layer_norm(a, cache, isa); };
  check.reset = [&] { y.poison(); };
  check.outputs = {{&y, naive_layer_norm(a)}};
  check.inputs = {&x};
  checker.run(check);
}

}  // namespace

void check_attention(Checker& checker, Random& r, int count) {
  const AttentionShape fixed[] = {
      {1, 2, 256, 256, 1, 64, false, false}, {1, 1, 129, 129, 2, 80, false, false}, {2, 1, 33, 33, 2, 40, false, false},
      {1, 1, 40, 600, 1, 512, false, false}, {2, 14, 9, 14, 2, 64, true, false},   {1, 3, 400, 300, 2, 16, false, true},
      {2, 5, 7, 1, 2, 32, false, true},      {2, 14, 5, 1, 1, 64, true, false},
  };
  for (const AttentionShape& shape : fixed) check_one_attention(checker, r, shape, false);
  for (int i = 0; i < count; ++i) {
    const bool packed = chance(r, 0.25);
    const AttentionShape shape{packed ? 1 : pick(r, {1, 2}),
                               packed ? 1 : pick(r, {1, 3}),
                               pick(r, {2, 5, 17, 33, 64}),
                               pick(r, {1, 3, 16, 45, 64, 70}),
                               pick(r, {1, 2, 3}),
                               pick(r, {8, 16, 40, 64, 72, 80}),
                               !packed && chance(r, 0.3),
                               chance(r, 0.3)};
    check_one_attention(checker, r, shape, packed);
  }
}

void check_norms(Checker& checker, Random& r, int count) {
  for (int i = 0; i < count; ++i) check_group_norm(checker, r, i % 3 == 0 ? 50 : 0.1);
  for (int i = 0; i < count; ++i) check_layer_norm(checker, r, i % 3 == 0 ? 50 : 0.1);
}

void check_pointwise(Checker& checker, Random& r, int count) {
  for (int i = 0; i < count; ++i) {
    const std::vector<int64_t> dims{pick(r, {1, 2}), pick(r, {1, 3}), pick(r, {1, 9, 300}), pick(r, {1, 7, 16, 64, 100})};
    const bool dense = chance(r, 0.5);
    PointwiseArgs p{};
    TestTensor a = filled(r, dims, DType::f32, dense ? 0 : 3), b, c, frameBias, y(dims, DType::f32, dense ? 0 : 16);
    p.a = a.view;
    p.y = y.view;
    if (chance(r, 0.7)) p.b = (b = filled(r, dims, DType::f32, dense ? 0 : 1)).view;
    if (p.b.present() && chance(r, 0.5)) p.c = (c = filled(r, dims, DType::f32, 0)).view;
    if (chance(r, 0.4)) {
      const std::vector<int64_t> biasDims{pick(r, {1, dims[0]}), pick(r, {1, dims[1]}), dims[3]};
      p.frameBias = (frameBias = filled(r, biasDims, DType::f32, 0)).view;
    }
    p.aScale = 1.5f;
    p.bScale = -0.5f;
    p.act = static_cast<Activation>(pick(r, {0, 0, 1, 2, 3, 4}));
    Check check;
    check.name = "pointwise " + std::to_string(i);
    check.tolerance = kTolerance;
    check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_pointwise(p, cache, isa); };
    check.reset = [&] { y.poison(); };
    check.outputs = {{&y, naive_pointwise(p)}};
    check.inputs = {&a};
    checker.run(check);
  }
}

void check_activations(Checker& checker) {
  // Each value is compared with its own size: y is divided by its expected value before the check.
  const std::pair<Activation, double> kinds[] = {
      {Activation::silu, 60}, {Activation::gelu, 9}, {Activation::gelu_tanh, 4}, {Activation::quick_gelu, 40}};
  for (const auto& [act, range] : kinds) {
    double worst = 0, worstAt = 0;
    constexpr int64_t kCount = 200000;
    TestTensor a({1, 1, 1, kCount}, DType::f32, 0), y({1, 1, 1, kCount}, DType::f32, 0);
    for (int64_t i = 0; i < kCount; ++i) a.put(0, i, range * (2.0 * static_cast<double>(i) / kCount - 1));
    PointwiseArgs p{};
    p.a = a.view;
    p.y = y.view;
    p.aScale = 1;
    p.act = act;
    Check check;
    check.name = "activation " + std::to_string(static_cast<int>(act));
    check.tolerance = 2e-7;
    check.prepare = [&](cpu::PackCache& cache, cpu::Isa isa) { return cpu::prepare_pointwise(p, cache, isa); };
    check.reset = [&] { y.poison(); };
    check.outputs = {{&y, naive_pointwise(p)}};
    checker.run(check);
    for (int64_t i = 0; i < kCount; ++i) {
      const double want = check.outputs[0].want[static_cast<size_t>(i)];
      const double error = want != 0 ? std::fabs(y.at(0, i) / want - 1) : 0;
      if (error > worst) worst = error, worstAt = a.at(0, i);
    }
    std::printf("activation %d: worst relative error of one value %.2e at %g\n", static_cast<int>(act), worst, worstAt);
  }
}

}  // namespace vd::harness
