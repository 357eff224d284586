#include "gpu_cases_shared.h"

#include <cmath>

#include "../../ops/attention/attention.h"
#include "../../ops/conv/conv.h"
#include "../../ops/linear/linear.h"

namespace vd::harness {

namespace {

struct ConvSpec {
  Dims x;  // B F H W C
  int64_t k;
  Dims kernel = {1, 3, 3}, stride = {1, 1, 1}, padding = {0, 0, 1, 1, 1, 1};
  bool upsample = false;
  DType type = kHalf, weightType = kHalf;
  std::string extras = "b";  // b bias, f frameBias, r residual, R residual2, p pitches
  Activation act = Activation::none;
};

void build_conv(Gpu& gpu, ReferenceParams& p, const ConvSpec& s) {
  ConvArgs& a = p.conv;
  const auto has = [&](char c) { return s.extras.find(c) != std::string::npos; };
  const int64_t pad = has('p') ? 16 : 0, C = s.x[4], up = s.upsample ? 2 : 1;
  const auto out = [&](int axis) {
    return (s.x[1 + axis] * (axis ? up : 1) + s.padding[2 * axis] + s.padding[2 * axis + 1] - s.kernel[axis]) / s.stride[axis] + 1;
  };
  const Dims y = {s.x[0], out(0), out(1), out(2), s.k};
  a.x = random(gpu, s.x, s.type, 1, 0, pad);
  const float scale = 1.0f / std::sqrt(static_cast<float>(C * s.kernel[0] * s.kernel[1] * s.kernel[2]));
  a.weight = random(gpu, {s.k, C, s.kernel[0], s.kernel[1], s.kernel[2]}, s.weightType, scale);
  a.weight.pitch = s.kernel[2];
  if (has('b')) a.bias = random(gpu, {s.k}, s.weightType);
  if (has('f')) a.frameBias = random(gpu, {s.x[0], y[1], s.k}, s.type);
  if (has('r')) a.residual = random(gpu, y, s.type, 1, 0, pad);
  if (has('R')) a.residual2 = random(gpu, y, s.type);
  a.y = make(gpu, y, s.type, pad);
  for (int i = 0; i < 3; ++i) a.stride[i] = s.stride[i];
  for (int i = 0; i < 6; ++i) a.padding[i] = s.padding[i];
  a.upsample = s.upsample;
  a.act = s.act;
  a.outScale = has('r') ? 0.75f : 1.0f;
  a.residualScale = 1.25f;
  a.residual2Scale = -0.5f;
  p.y = a.y;
}

Case conv_case(const std::string& name, const ConvSpec& s, bool bench = false) {
  Case c{"conv", name, bench, 0, {}, {}};
  int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2], pixels = s.x[0];
  for (int i = 0; i < 3; ++i)
    pixels *= (s.x[1 + i] * (s.upsample && i ? 2 : 1) + s.padding[2 * i] + s.padding[2 * i + 1] - s.kernel[i]) / s.stride[i] + 1;
  if (s.upsample) taps = 4;
  c.flops = 2.0 * pixels * s.k * taps * s.x[4];
  c.build = [s](Gpu& gpu, ReferenceParams& p) { build_conv(gpu, p, s); };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return conv_cuda_variants(p.conv, d, false).variants; };
  return c;
}

struct LinearSpec {
  Dims x;  // B F S C
  int64_t n;
  int64_t c2 = 0;
  DType type = kHalf, weightType = kHalf;
  std::string extras = "b";
  Activation act = Activation::none;
};

void build_linear(Gpu& gpu, ReferenceParams& p, const LinearSpec& s) {
  LinearArgs& a = p.linear;
  const auto has = [&](char c) { return s.extras.find(c) != std::string::npos; };
  const int64_t pad = has('p') ? 16 : 0, C = s.x[3] + s.c2, k = s.act == Activation::geglu ? s.n / 2 : s.n;
  const Dims y = {s.x[0], s.x[1], s.x[2], k};
  a.x = random(gpu, s.x, s.type, 1, 0, pad);
  if (s.c2) a.x2 = random(gpu, {s.x[0], s.x[1], s.x[2], s.c2}, s.type);
  a.weight = random(gpu, {s.n, C}, s.weightType, 1.0f / std::sqrt(static_cast<float>(C)));
  if (has('b')) a.bias = random(gpu, {s.n}, s.weightType);
  if (has('f')) a.frameBias = random(gpu, {s.x[0], s.x[1], s.n}, s.type);
  if (has('r')) a.residual = random(gpu, y, s.type, 1, 0, pad);
  if (has('R')) a.residual2 = random(gpu, y, s.type);
  a.y = make(gpu, y, s.type, pad);
  a.act = s.act;
  a.outScale = has('r') ? 0.75f : 1.0f;
  a.residualScale = 1.25f;
  a.residual2Scale = -0.5f;
  p.y = a.y;
}

Case linear_case(const std::string& name, const LinearSpec& s, bool bench = false) {
  Case c{"linear", name, bench, 2.0 * s.x[0] * s.x[1] * s.x[2] * (s.x[3] + s.c2) * s.n, {}, {}};
  c.build = [s](Gpu& gpu, ReferenceParams& p) { build_linear(gpu, p, s); };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return linear_cuda_variants(p.linear, d, false).variants; };
  return c;
}

struct AttentionSpec {
  int64_t b, f, s, l, heads, d;
  bool time = false, causal = false;
  DType type = kHalf;
  std::string extras = "";  // l lse, m additive mask, u byte mask, v packed sequences, q views of one QKV tensor, s shared keys
};

void build_attention(Gpu& gpu, ReferenceParams& p, const AttentionSpec& s) {
  AttentionArgs& a = p.attention;
  const auto has = [&](char c) { return s.extras.find(c) != std::string::npos; };
  const int64_t hd = s.heads * s.d;
  const Dims kv = s.time ? Dims{s.b, s.l, s.s, hd} : Dims{s.b, has('s') ? 1 : s.f, s.l, hd};
  const int64_t extra = has('q') ? 2 * hd : 0;
  a.q = random(gpu, {s.b, s.f, s.s, hd}, s.type, 1, 0, extra);
  a.k = random(gpu, kv, s.type, 1, 0, extra);
  a.v = random(gpu, kv, s.type, 1, 0, extra);
  if (has('q')) {
    a.k = a.q;
    a.v = a.q;
    a.k.data = static_cast<char*>(a.q.data) + hd * bytes_of(s.type);
    a.v.data = static_cast<char*>(a.q.data) + 2 * hd * bytes_of(s.type);
  }
  if (has('m')) a.mask = random(gpu, {s.b, 1, s.s, s.l}, kFloat);
  if (has('u')) a.mask = random(gpu, {1, s.heads, s.s, s.l}, DType::u8);
  if (has('v')) {
    const std::vector<int> q = {0, static_cast<int>(s.s / 3), static_cast<int>(s.s / 3), static_cast<int>(s.s - 3)};
    const std::vector<int> k = {0, static_cast<int>(s.l / 2), static_cast<int>(s.l / 2 + 2), static_cast<int>(s.l)};
    a.cuQ = make(gpu, {4}, DType::i32);
    a.cuK = make(gpu, {4}, DType::i32);
    gpu.write(a.cuQ.data, q.data(), 16);
    gpu.write(a.cuK.data, k.data(), 16);
  }
  a.y = make(gpu, {s.b, s.f, s.s, hd}, s.type, 0);
  if (has('l')) a.lse = make(gpu, {s.b, s.f, s.heads, s.s}, kFloat);
  a.axis = s.time ? AttentionAxis::time : AttentionAxis::space;
  a.heads = s.heads;
  a.scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  a.causal = s.causal;
  p.y = a.y;
}

Case attention_case(const std::string& name, const AttentionSpec& s, bool bench = false) {
  Case c{"attention", name, bench, 4.0 * s.b * s.f * s.s * s.heads * s.d * s.l, {}, {}};
  c.build = [s](Gpu& gpu, ReferenceParams& p) { build_attention(gpu, p, s); };
  c.plan = [](const ReferenceParams& p, const cuda::DeviceInfo& d) { return attention_cuda_variants(p.attention, d, false).variants; };
  return c;
}

void add_small_matmuls(std::vector<Case>& cases) {
  for (DType t : {kHalf, kBfloat, kFloat}) {
    const std::string suffix = t == kHalf ? "" : t == kBfloat ? ".bf16" : ".f32";
    const auto conv = [&](const std::string& n, ConvSpec s) { s.type = t; cases.push_back(conv_case(n + suffix, s)); };
    const auto linear = [&](const std::string& n, LinearSpec s) { s.type = t; cases.push_back(linear_case(n + suffix, s)); };
    conv("small.3x3", {{1, 2, 18, 32, 64}, 96});
    conv("small.3x3.ragged", {{2, 3, 9, 13, 72}, 40, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false, t, kFloat, "bfrRp"});
    conv("small.3x3.c8", {{1, 3, 12, 20, 8}, 320});
    conv("small.3x3.c4", {{1, 3, 12, 20, 4}, 32});
    conv("small.3x3.k3", {{1, 2, 12, 20, 64}, 3});
    conv("small.stride2", {{2, 2, 17, 23, 64}, 128, {1, 3, 3}, {1, 2, 2}, {0, 0, 1, 1, 1, 1}});
    conv("small.stride2.asymmetric", {{1, 2, 16, 24, 64}, 64, {1, 3, 3}, {1, 2, 2}, {0, 0, 0, 1, 0, 1}});
    conv("small.temporal", {{2, 7, 6, 10, 64}, 64, {3, 1, 1}, {1, 1, 1}, {1, 1, 0, 0, 0, 0}, false, t, kHalf, "bfr"});
    conv("small.1x1", {{1, 2, 7, 9, 128}, 64, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, false, t, kHalf, "bR"});
    conv("small.upsample", {{1, 2, 9, 16, 64}, 96, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, true, t, kHalf, "bfr"});
    conv("small.upsample5", {{1, 1, 6, 7, 16}, 24, {1, 5, 5}, {1, 1, 1}, {0, 0, 2, 2, 2, 2}, true});
    conv("small.3x3x3.silu", {{1, 5, 8, 8, 32}, 64, {3, 3, 3}, {2, 1, 1}, {1, 1, 1, 1, 1, 1}, false, t, kHalf, "b", Activation::silu});
    linear("small", {{1, 1, 300, 320}, 320});
    linear("small.ragged", {{2, 3, 37, 88}, 72, 24, t, kFloat, "bfrRp"});
    linear("small.odd", {{1, 1, 77, 45}, 33, 0, t, kHalf, "br"});
    linear("small.geglu", {{2, 2, 100, 64}, 512, 0, t, kHalf, "bf", Activation::geglu});
    linear("small.geglu.odd", {{1, 1, 50, 20}, 28, 0, t, kHalf, "b", Activation::geglu});
    for (int act = 1; act <= 4; ++act)
      linear("small.act" + std::to_string(act), {{1, 1, 130, 128}, 160, 0, t, kHalf, "b", static_cast<Activation>(act)});
    linear("small.many", {{1, 1, 5000, 640}, 1300, 0, t, kHalf, "b"});
    linear("small.many.geglu", {{1, 1, 5000, 640}, 2560, 0, t, kHalf, "b", Activation::geglu});
    conv("small.k4.many", {{2, 3, 30, 34, 192}, 4, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false, t, kHalf, "bfr"});
    conv("small.narrow", {{2, 3, 19, 45, 64}, 3, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false, t, kHalf, "bfr"});
    conv("small.narrow.8", {{1, 2, 8, 33, 96}, 8, {1, 3, 3}, {1, 1, 1}, {0, 0, 0, 2, 2, 0}, false, t, kFloat, "bR"});
    conv("small.many", {{2, 5, 30, 34, 192}, 320, {1, 3, 3}, {1, 1, 1}, {0, 0, 1, 1, 1, 1}, false, t, kHalf, "br"});
    linear("small.k320", {{2, 3, 137, 320}, 344, 0, t, kHalf, "br"});
    linear("small.k320.geglu", {{1, 1, 5111, 320}, 1296, 0, t, kHalf, "b", Activation::geglu});
    linear("small.k320.few", {{1, 1, 25, 320}, 1280, 0, t, kHalf, "b"});
    linear("small.k320.few.geglu", {{1, 1, 3, 320}, 256, 0, t, kHalf, "b", Activation::geglu});
    linear("small.k320.geglu.residual", {{1, 1, 300, 320}, 512, 0, t, kHalf, "br", Activation::geglu});
    linear("small.one", {{2, 1, 1, 320}, 1280, 0, t, kHalf, "b", Activation::silu});
  }
}

void add_bench_matmuls(std::vector<Case>& cases) {
  const Dims t311 = {3, 1, 1}, one = {1, 1, 1}, temporal = {1, 1, 0, 0, 0, 0}, none = {0, 0, 0, 0, 0, 0}, same = {0, 0, 1, 1, 1, 1};
  const auto conv = [&](const std::string& n, const ConvSpec& s) { cases.push_back(conv_case(n, s, true)); };
  conv("unet.3x3.320", {{2, 25, 72, 128, 320}, 320, {1, 3, 3}, one, same, false, kHalf, kHalf, "bf"});
  conv("unet.3x3.640", {{2, 25, 36, 64, 640}, 640, {1, 3, 3}, one, same, false, kHalf, kHalf, "bf"});
  conv("unet.3x3.1280", {{2, 25, 18, 32, 1280}, 1280, {1, 3, 3}, one, same, false, kHalf, kHalf, "bf"});
  conv("unet.3x3.1280.low", {{2, 25, 9, 16, 1280}, 1280, {1, 3, 3}, one, same, false, kHalf, kHalf, "bf"});
  conv("unet.3x3.960-320", {{2, 25, 72, 128, 960}, 320, {1, 3, 3}, one, same, false, kHalf, kHalf, "bf"});
  conv("unet.temporal.320", {{2, 25, 72, 128, 320}, 320, t311, one, temporal, false, kHalf, kHalf, "br"});
  conv("unet.temporal.640", {{2, 25, 36, 64, 640}, 640, t311, one, temporal, false, kHalf, kHalf, "br"});
  conv("unet.temporal.1280", {{2, 25, 18, 32, 1280}, 1280, t311, one, temporal, false, kHalf, kHalf, "br"});
  conv("unet.conv_in", {{2, 25, 72, 128, 8}, 320});
  conv("unet.conv_out", {{2, 25, 72, 128, 320}, 4});
  conv("unet.down.320", {{2, 25, 72, 128, 320}, 320, {1, 3, 3}, {1, 2, 2}, same});
  conv("unet.up.640", {{2, 25, 36, 64, 640}, 640, {1, 3, 3}, one, same, true});
  conv("unet.shortcut.960-320", {{2, 25, 72, 128, 960}, 320, one, one, none});
  conv("vae.3x3.128", {{1, 25, 576, 1024, 128}, 128});
  conv("vae.3x3.256", {{1, 25, 288, 512, 256}, 256});
  conv("vae.3x3.512", {{1, 25, 144, 256, 512}, 512});
  conv("vae.temporal.128", {{1, 25, 576, 1024, 128}, 128, t311, one, temporal, false, kHalf, kHalf, "br"});
  conv("vae.up.256", {{1, 25, 288, 512, 256}, 256, {1, 3, 3}, one, same, true});
  conv("vae.conv_out", {{1, 25, 576, 1024, 128}, 3});
  const auto linear = [&](const std::string& n, const LinearSpec& s) { cases.push_back(linear_case(n, s, true)); };
  linear("m460800.k320.n320", {{2, 25, 9216, 320}, 320});
  linear("m460800.k320.n320.residual", {{2, 25, 9216, 320}, 320, 0, kHalf, kHalf, "br"});
  linear("m460800.k320.n960", {{2, 25, 9216, 320}, 960, 0, kHalf, kHalf, ""});
  linear("m460800.k320.n2560.geglu", {{2, 25, 9216, 320}, 2560, 0, kHalf, kHalf, "b", Activation::geglu});
  linear("m460800.k320.n2560", {{2, 25, 9216, 320}, 2560});
  linear("m460800.k1280.n320", {{2, 25, 9216, 1280}, 320, 0, kHalf, kHalf, "br"});
  linear("m115200.k640.n640", {{2, 25, 2304, 640}, 640});
  linear("m115200.k640.n1920", {{2, 25, 2304, 640}, 1920, 0, kHalf, kHalf, ""});
  linear("m115200.k640.n5120.geglu", {{2, 25, 2304, 640}, 5120, 0, kHalf, kHalf, "b", Activation::geglu});
  linear("m115200.k640.n5120", {{2, 25, 2304, 640}, 5120});
  linear("m115200.k2560.n640", {{2, 25, 2304, 2560}, 640, 0, kHalf, kHalf, "br"});
  linear("m28800.k1280.n1280", {{2, 25, 576, 1280}, 1280});
  linear("m28800.k1280.n10240.geglu", {{2, 25, 576, 1280}, 10240, 0, kHalf, kHalf, "b", Activation::geglu});
  linear("m28800.k1280.n10240", {{2, 25, 576, 1280}, 10240});
  linear("m28800.k5120.n1280", {{2, 25, 576, 5120}, 1280, 0, kHalf, kHalf, "br"});
  linear("m8192.k8192.n8192", {{1, 1, 8192, 8192}, 8192, 0, kHalf, kHalf, ""});
  conv("vae.encoder.3x3.128.f32", {{1, 1, 576, 1024, 128}, 128, {1, 3, 3}, one, same, false, kFloat});
  conv("vae.encoder.3x3.256.f32", {{1, 1, 288, 512, 256}, 256, {1, 3, 3}, one, same, false, kFloat});
  conv("vae.encoder.3x3.512.f32", {{1, 1, 144, 256, 512}, 512, {1, 3, 3}, one, same, false, kFloat});
  conv("vae.encoder.3x3.512.low.f32", {{1, 1, 72, 128, 512}, 512, {1, 3, 3}, one, same, false, kFloat});
  conv("vae.encoder.conv_in.f32", {{1, 1, 576, 1024, 3}, 128, {1, 3, 3}, one, same, false, kFloat});
  conv("vae.encoder.3x3.128.f32.weights.f32", {{1, 1, 576, 1024, 128}, 128, {1, 3, 3}, one, same, false, kFloat, kFloat});
  linear("vae.encoder.qkv.f32", {{1, 1, 9216, 512}, 1536, 0, kFloat});
  linear("vae.encoder.qkv.f32.weights.f32", {{1, 1, 9216, 512}, 1536, 0, kFloat, kFloat});
  linear("clip.fc1.gelu", {{1, 1, 257, 1280}, 5120, 0, kHalf, kHalf, "b", Activation::gelu});
}

void add_attention(std::vector<Case>& cases) {
  const auto add = [&](const std::string& n, const AttentionSpec& s, bool bench = false) { cases.push_back(attention_case(n, s, bench)); };
  for (DType t : {kHalf, kBfloat, kFloat}) {
    const std::string suffix = t == kHalf ? "" : t == kBfloat ? ".bf16" : ".f32";
    for (int64_t d : {8, 20, 40, 64, 80, 128, 160, 256, 512})
      add("small.d" + std::to_string(d) + suffix, {1, 2, 100, 77, 2, d, false, false, t, "l"});
    add("small.d512.two" + suffix, {2, 2, 200, 330, 2, 512, false, false, t, "l"});
    add("small.d64.qkv" + suffix, {2, 2, 200, 200, 3, 64, false, false, t, "ql"});
    add("small.d64.shared" + suffix, {2, 3, 70, 10, 2, 64, false, false, t, "s"});
    add("small.d64.causal" + suffix, {1, 1, 150, 150, 2, 64, false, true, t, "l"});
    add("small.d64.mask" + suffix, {2, 1, 90, 130, 2, 64, false, false, t, "m"});
    add("small.d64.bytes" + suffix, {2, 1, 33, 40, 2, 64, false, false, t, "u"});
    add("small.d64.packed" + suffix, {1, 1, 100, 90, 2, 64, false, false, t, "v"});
    add("small.time" + suffix, {2, 25, 37, 25, 3, 64, true, false, t, "q"});
    add("small.time.short" + suffix, {2, 14, 37, 14, 3, 64, true, false, t, "q"});
    add("small.time.long" + suffix, {1, 70, 9, 70, 2, 64, true, false, t, ""});
    add("small.time.d32" + suffix, {1, 5, 9, 5, 2, 32, true, false, t, ""});
  }
  add("spatial.s9216", {2, 25, 9216, 9216, 5, 64, false, false, kHalf, "q"}, true);
  add("spatial.s2304", {2, 25, 2304, 2304, 10, 64, false, false, kHalf, "q"}, true);
  add("spatial.s576", {2, 25, 576, 576, 20, 64, false, false, kHalf, "q"}, true);
  add("spatial.s144", {2, 25, 144, 144, 20, 64, false, false, kHalf, "q"}, true);
  add("temporal.s9216", {2, 25, 9216, 25, 5, 64, true, false, kHalf, "q"}, true);
  add("temporal.s2304", {2, 25, 2304, 25, 10, 64, true, false, kHalf, "q"}, true);
  add("temporal.s576", {2, 25, 576, 25, 20, 64, true, false, kHalf, "q"}, true);
  add("vae.encoder.d512.f32", {1, 1, 9216, 9216, 1, 512, false, false, kFloat, ""}, true);
  add("spatial.s2304.f32", {1, 2, 2304, 2304, 10, 64, false, false, kFloat, "q"}, true);
  add("clip.d80.f32", {1, 1, 257, 257, 16, 80, false, false, kFloat, ""}, true);
  add("vae.d512", {1, 4, 9216, 9216, 1, 512, false, false, kHalf, ""}, true);
  add("clip.d80", {1, 1, 257, 257, 16, 80, false, false, kHalf, ""}, true);
  add("seed.2x8x64x64", {2, 1, 64, 64, 8, 64, false, false, kHalf, ""}, true);
  add("seed.4x12x128x64", {4, 1, 128, 128, 12, 64, false, false, kHalf, ""}, true);
  add("seed.2x16x256x64", {2, 1, 256, 256, 16, 64, false, false, kHalf, ""}, true);
  add("seed.2x8x77x64", {2, 1, 77, 77, 8, 64, false, false, kHalf, ""}, true);
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_small_matmuls(cases);
  add_attention(cases);
  add_norms(cases);
  add_bench_matmuls(cases);
  return cases;
}

}  // namespace vd::harness
