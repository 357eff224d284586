#include "gpu_cases_shared.h"
#include "../../ops/group_norm/group_norm.h"
#include "../../ops/group_norm_stats/group_norm_stats.h"
#include "../../ops/layer_norm/layer_norm.h"
#include "../../ops/pointwise/pointwise.h"

namespace vd::harness {

namespace {

struct NormSpec {
  Dims x;
  int64_t groups = 32, c2 = 0;
  bool join = false, stats = false;
  Activation act = Activation::silu;
  DType type = kHalf;
};

Case group_norm_case(const std::string& name, const NormSpec& s, bool bench = false) {
  Case c{"group_norm", name, bench, 0, {}, {}};
  c.build = [s](Gpu& gpu, ReferenceParams& p) {
    GroupNormArgs& a = p.groupNorm;
    Dims x2 = s.x, y = s.x;
    x2[4] = s.c2;
    y[4] += s.c2;
    a.x = random(gpu, s.x, s.type, 1, 2);
    if (s.c2) a.x2 = random(gpu, x2, s.type, 2, -1);
    a.weight = random(gpu, {y[4]}, kHalf);
    a.bias = random(gpu, {y[4]}, kHalf);
    if (s.stats) a.stats = random(gpu, {s.x[0], s.join ? 1 : s.x[1], s.groups, 2}, kFloat);
    a.y = make(gpu, y, s.type);
    a.groups = s.groups;
    a.eps = 1e-5f;
    a.act = s.act;
    a.joinFrames = s.join;
    p.y = a.y;
  };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return group_norm_cuda_variants(p.groupNorm, d, false).variants; };
  return c;
}

Case stats_case(const std::string& name, const NormSpec& s, bool bench = false) {
  Case c{"group_norm_stats", name, bench, 0, {}, {}};
  c.build = [s](Gpu& gpu, ReferenceParams& p) {
    GroupNormStatsArgs& a = p.groupNormStats;
    Dims x2 = s.x;
    x2[4] = s.c2;
    a.x = random(gpu, s.x, s.type, 1, 2);
    if (s.c2) a.x2 = random(gpu, x2, s.type, 2, -1);
    a.stats = make(gpu, {s.x[0], s.join ? 1 : s.x[1], s.groups, 2}, kFloat);
    a.groups = s.groups;
    a.eps = 1e-5f;
    a.joinFrames = s.join;
    p.y = a.stats;
  };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return group_norm_stats_cuda_variants(p.groupNormStats, d, false).variants; };
  return c;
}

Case layer_norm_case(const std::string& name, const Dims& x, DType type = kHalf, bool bench = false) {
  Case c{"layer_norm", name, bench, 0, {}, {}};
  c.build = [=](Gpu& gpu, ReferenceParams& p) {
    LayerNormArgs& a = p.layerNorm;
    a.x = random(gpu, x, type, 1, 3);
    a.weight = random(gpu, {x[3]}, type);
    a.bias = random(gpu, {x[3]}, type);
    a.y = make(gpu, x, type);
    a.eps = 1e-5f;
    p.y = a.y;
  };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return layer_norm_cuda_variants(p.layerNorm, d, false).variants; };
  return c;
}

Case pointwise_case(const std::string& name, const Dims& x, const std::string& extras, DType type = kHalf, bool bench = false) {
  Case c{"pointwise", name, bench, 0, {}, {}};
  c.build = [=](Gpu& gpu, ReferenceParams& p) {
    PointwiseArgs& a = p.pointwise;
    const auto has = [&](char k) { return extras.find(k) != std::string::npos; };
    a.a = random(gpu, x, type);
    if (has('b')) a.b = random(gpu, x, type, 1, 0, has('p') ? 8 : 0);
    if (has('c')) a.c = random(gpu, x, type);
    if (has('f')) a.frameBias = random(gpu, {x[0], x[1], x[3]}, type);
    a.y = make(gpu, x, type, has('p') ? 8 : 0);
    a.aScale = 0.5f;
    a.bScale = -1.5f;
    a.act = has('s') ? Activation::silu : Activation::none;
    p.y = a.y;
  };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return pointwise_cuda_variants(p.pointwise, d, false).variants; };
  return c;
}

}  // namespace

void add_norms(std::vector<Case>& cases) {
  for (DType t : {kHalf, kBfloat, kFloat}) {
    const std::string suffix = t == kHalf ? "" : t == kBfloat ? ".bf16" : ".f32";
    for (bool join : {false, true}) {
      const std::string j = (join ? ".join" : "") + suffix;
      cases.push_back(group_norm_case("small.320" + j, {{2, 3, 9, 7, 320}, 32, 0, join, false, Activation::silu, t}));
      cases.push_back(group_norm_case("small.x2" + j, {{2, 3, 9, 7, 64}, 32, 128, join, false, Activation::none, t}));
      cases.push_back(group_norm_case("small.x2.split" + j, {{1, 2, 5, 7, 40}, 3, 56, join, false, Activation::silu, t}));
      cases.push_back(group_norm_case("small.odd" + j, {{1, 2, 11, 3, 12}, 4, 0, join, false, Activation::none, t}));
      cases.push_back(group_norm_case("small.given" + j, {{2, 2, 8, 8, 64}, 8, 0, join, true, Activation::silu, t}));
      cases.push_back(stats_case("small.stats" + j, {{2, 3, 20, 30, 64}, 32, 32, join, false, Activation::none, t}));
      cases.push_back(group_norm_case("small.2560" + j, {{1, 2, 9, 16, 1280}, 32, 1280, join, false, Activation::silu, t}));
    }
    // Many frames, and several chunks of them.
    cases.push_back(group_norm_case("small.frames" + suffix, {{1, 300, 1, 1, 2560}, 32, 0, false, false, Activation::silu, t}));
    cases.push_back(group_norm_case("small.frames.chunks" + suffix, {{1, 60, 17, 16, 320}, 32, 0, false, false, Activation::silu, t}));
    for (int64_t c : {8, 30, 64, 320, 640, 1024, 1280, 2048, 4096})
      cases.push_back(layer_norm_case("small.c" + std::to_string(c) + suffix, {1, 2, 19, c}, t));
    cases.push_back(pointwise_case("small.all" + suffix, {2, 3, 17, 64}, "bcfs", t));
    cases.push_back(pointwise_case("small.ab" + suffix, {2, 3, 17, 20}, "bp", t));
    cases.push_back(pointwise_case("small.a" + suffix, {1, 3, 5, 7}, "f", t));
  }
  cases.push_back(group_norm_case("unet.320", {{2, 25, 72, 128, 320}}, true));
  cases.push_back(group_norm_case("unet.320.join", {{2, 25, 72, 128, 320}, 32, 0, true}, true));
  cases.push_back(group_norm_case("unet.640", {{2, 25, 36, 64, 640}}, true));
  cases.push_back(group_norm_case("unet.1280", {{2, 25, 18, 32, 1280}}, true));
  cases.push_back(group_norm_case("unet.1280.small", {{2, 25, 9, 16, 1280}}, true));
  cases.push_back(group_norm_case("unet.320+320", {{2, 25, 72, 128, 320}, 32, 320}, true));
  cases.push_back(group_norm_case("unet.640+320", {{2, 25, 72, 128, 640}, 32, 320}, true));
  cases.push_back(group_norm_case("vae.128", {{1, 25, 576, 1024, 128}}, true));
  cases.push_back(group_norm_case("vae.128.join", {{1, 25, 576, 1024, 128}, 32, 0, true}, true));
  cases.push_back(stats_case("unet.320", {{2, 25, 72, 128, 320}}, true));
  cases.push_back(layer_norm_case("460800x320", {2, 25, 9216, 320}, kHalf, true));
  cases.push_back(layer_norm_case("115200x640", {2, 25, 2304, 640}, kHalf, true));
  cases.push_back(layer_norm_case("28800x1280", {2, 25, 576, 1280}, kHalf, true));
  cases.push_back(pointwise_case("460800x320", {2, 25, 9216, 320}, "b", kHalf, true));
}

}  // namespace vd::harness
