#include "../../native/generated/op_planners.h"

#include <algorithm>

#include "../../native/cuda/planning/conv_geometry.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/matmul_mma.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "conv_plans.h"

namespace vd {

using namespace device;

int set_geometry(MatmulMmaParams& p, const ConvArgs& a) {
  int taps = 1;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = static_cast<int32_t>(a.x.dim(1 + i));
    p.out[i] = static_cast<int32_t>(a.y.dim(1 + i));
    p.kernel[i] = static_cast<int32_t>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int32_t>(a.stride[i]);
    p.padding[i] = static_cast<int32_t>(a.padding[2 * i]);
    taps *= p.kernel[i];
  }
  p.padding[0] += cuda::past_frames(a);
  p.past = a.past.data;
  p.pastPitch = a.past.pitch;
  p.pastFrames = cuda::past_frames(a);
  p.replicate = a.framePadding == FramePadding::replicate;
  p.phaseStep = 1;
  p.upsample = a.upsample;
  p.rows = static_cast<int32_t>(a.y.pixels());
  p.columns = static_cast<int32_t>(a.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.tapChannels = static_cast<int32_t>(cuda::round_up(p.channels, 16 / bytes_of(a.x.dtype)));
  p.depth = taps * p.tapChannels;
  return taps;
}

namespace {

/** The row on the portable cores but for its weights; taps: how many they have. */
cuda::MmaProblem mma_shape(const ConvArgs& a, const Epilogue& epilogue, int& taps) {
  cuda::MmaProblem problem{cuda::reads_clip(a) || a.transposed ? "conv_clip" : "conv", {}, {}, {}, a.x.dtype, a.weight.dtype, {}};
  MatmulMmaParams& p = problem.params;
  p.x = a.x.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  taps = set_geometry(p, a);
  const int64_t chunk = 16 / bytes_of(a.x.dtype);
  problem.unchunked = cuda::first_of({cuda::access_reason(a.x, "x", chunk, true), cuda::access_reason(a.past, "past", chunk, true)});
  return problem;
}

cuda::MmaProblem mma_problem(const ConvArgs& a, const Epilogue& epilogue) {
  int taps = 0;
  cuda::MmaProblem problem = mma_shape(a, epilogue, taps);
  const MatmulMmaParams& p = problem.params;
  PackParams pack{};
  pack.kind = PackKind::conv;
  pack.taps = taps;
  pack.rows = p.columns;
  pack.channels = p.channels;
  pack.paddedChannels = p.tapChannels;
  pack.count = static_cast<int64_t>(p.columns) * p.depth;
  pack.targetType = static_cast<int32_t>(a.x.dtype);
  problem.weights = cuda::Address::packed(cuda::add_pack(problem.base, a.weight, "conv_pack", pack));
  return problem;
}

/** One phase of a transposed row: 2x2 filters over x, whose results are every second row and column of y. */
cuda::MmaProblem phase_problem(const ConvArgs& a, const Epilogue& epilogue, int phase) {
  constexpr int kTaps = 4;
  int taps = 0;
  cuda::MmaProblem problem = mma_shape(a, epilogue, taps);
  MatmulMmaParams& p = problem.params;
  for (int i = 1; i < 3; ++i) {
    p.out[i] = p.source[i];
    p.kernel[i] = 2;
    p.stride[i] = 1;
  }
  p.phaseStep = 2;
  p.phaseRow = phase >> 1;
  p.phaseColumn = phase & 1;
  p.padding[1] = 1 - p.phaseRow;
  p.padding[2] = 1 - p.phaseColumn;
  p.rows = static_cast<int32_t>(a.x.pixels());
  p.depth = kTaps * p.tapChannels;
  const cuda::Address filters = cuda::pack_conv_filters(problem.base, a, kTaps, p.tapChannels);
  const uint64_t bytes = static_cast<uint64_t>(p.columns) * p.depth * bytes_of(a.x.dtype);
  problem.weights = cuda::Address::packed(filters.pack, phase * bytes);
  return problem;
}

/** Why the kernel for few channels to few cannot do the row. */
cuda::Reason few_reason(const MatmulMmaParams& p) {
  return cuda::first_of({cuda::if_so(p.columns > kFewColumns, {"is for at most # output channels, there are #", {kFewColumns, p.columns}}),
                         cuda::if_so(p.channels > kFewChannels, {"is for at most # channels, x has #", {kFewChannels, p.channels}}),
                         cuda::if_so(p.depth > kFewDepth, {"is for at most # products a result, there are #", {kFewDepth, p.depth}})});
}

/** Why a row is no 3x3 filter that moves by a pixel. */
cuda::Reason plain_3x3_reason(const MatmulMmaParams& p) {
  const bool filter = p.kernel[0] == 1 && p.kernel[1] == 3 && p.kernel[2] == 3 && p.padding[0] == 0 && p.out[0] == p.source[0];
  const bool step = p.stride[0] == 1 && p.stride[1] == 1 && p.stride[2] == 1 && !p.upsample;
  return cuda::first_of({cuda::if_so(!filter, {"is for filters of 1x3x3"}), cuda::if_so(!step, {"has no strides and no upsampling"})});
}

/** Why the kernel for 3x3 filters of many channels to few cannot do the row: it takes a step of one, whole chunks of 32 channels,
 *  16-bit tensor cores, and frames whose elements 31 bits can count. */
cuda::Reason narrow_reason(const ConvArgs& a, const MatmulMmaParams& p, const cuda::DeviceInfo& device) {
  const int64_t elements = static_cast<int64_t>(p.source[1]) * p.source[2] * p.pitch;
  return cuda::first_of(
      {cuda::copy_engine_reason(a.x, "x"), cuda::if_so(a.x.dtype != DType::f16, cuda::sm80_reason(device)), plain_3x3_reason(p),
       cuda::if_so(p.columns > kNarrowColumns, {"is for at most # output channels, there are #", {kNarrowColumns, p.columns}}),
       cuda::if_so(p.channels % 32 != 0, {"has # channels, which 32 does not divide", {p.channels}, "x"}),
       cuda::if_so(elements >= INT32_MAX, {"has # elements a frame, the most is #", {elements, INT32_MAX - 1}, "x"})});
}

/** Why the kernel for 3x3 filters of few channels to many cannot do the row. */
cuda::Reason shallow_reason(const ConvArgs& a, const MatmulMmaParams& p, const cuda::DeviceInfo& device) {
  return cuda::first_of(
      {cuda::if_so(a.x.dtype == DType::f32, {"is for 16 bits"}), cuda::if_so(a.x.dtype != DType::f16, cuda::sm80_reason(device)),
       plain_3x3_reason(p),
       cuda::if_so(p.columns <= kNarrowColumns, {"is for more than # output channels, there are #", {kNarrowColumns, p.columns}}),
       cuda::if_so(p.channels > kShallowChannels, {"is for at most # channels, x has #", {kShallowChannels, p.channels}})});
}

/** Adds that kernel, if it can do the row. */
void add_shallow(const ConvArgs& a, const cuda::MmaProblem& problem, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const MatmulMmaParams& p = problem.params;
  const std::string name = "conv_shallow_" + cuda::type_name(a.x.dtype);
  if (!out.allows({name}, shallow_reason(a, p, device))) return;
  const int64_t tiles = cuda::ceil_div(p.out[1], kShallowTileH) * cuda::ceil_div(p.out[2], kShallowTileW) * a.y.dim(0) * a.y.dim(1);
  cuda::Variant variant = cuda::mma_variant(problem, name, kShallowThreads, tiles * cuda::ceil_div(p.columns, kShallowColumns));
  variant.launches.back().overlapped = device.smVersion >= 90;
  out.add(std::move(variant));
}

/** Adds the kernel for few output channels that can do the row, if there is one. */
void add_few_columns(const ConvArgs& a, const cuda::MmaProblem& problem, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const MatmulMmaParams& p = problem.params;
  const std::string type = cuda::type_name(a.x.dtype), few = problem.op + "_few_" + type, narrow = "conv_narrow_" + type;
  if (out.allows({few}, few_reason(p))) {
    out.add(cuda::mma_variant(problem, few, 256, std::min<int64_t>(cuda::ceil_div(p.rows, 256), 1 << 16)));
    out.reject({narrow}, {"is for more channels: conv_few does the row"});
  } else if (out.allows({narrow}, narrow_reason(a, p, device))) {
    const int64_t tiles = cuda::ceil_div(p.out[1], kNarrowTileH) * cuda::ceil_div(p.out[2], kNarrowTileW);
    out.add(cuda::mma_variant(problem, narrow, kNarrowThreads, tiles * a.y.dim(0) * a.y.dim(1)));
  }
}

/** Adds the portable cores: a launch, or for a transposed row one for each phase. */
void add_portable(const ConvArgs& a, const Epilogue& epilogue, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!a.transposed) return cuda::add_matmul_mma(mma_problem(a, epilogue), device, out);
  cuda::Candidates phases(cuda::PlanningOptions{.batchInvariant = true});
  for (int phase = 0; phase < 4; ++phase) {
    cuda::Candidates one(cuda::PlanningOptions{.batchInvariant = true});
    cuda::add_matmul_mma(phase_problem(a, epilogue, phase), device, one);
    if (phase == 0) phases = std::move(one);
    else cuda::join_launches(phases, one);
  }
  for (cuda::Variant& variant : phases.variants) out.add(std::move(variant));
}

/** True for a small row of few products: the Hopper core would multiply zeros for most of a block of 64 channels or a tile of columns, and
 *  its start takes longer than all of the row on the portable core. Measured on an H200: 6.9 us instead of 10.4 for 8 channels to 64, 11
 *  instead of 29 for 192 to 3. */
bool is_shallow(const ConvArgs& a, const cuda::DeviceInfo& device) {
  constexpr int64_t kFewChannels = 16, kFewProducts = 256;
  const int64_t tiles = cuda::ceil_div(a.y.pixels(), 64) * cuda::ceil_div(a.y.channels(), 64);
  const bool slim = a.y.channels() <= kFewChannels && a.weight.count() / a.weight.dim(0) <= kFewProducts;
  return (a.x.channels() <= kFewChannels || slim) && !a.transposed && tiles <= device.numSms;
}

}  // namespace

void add_conv_sm90(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({cuda::kMatmulSm90Family}, cuda::conv_sm90_reason(a, device))) return;
  cuda::Variant base;
  const Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  const cuda::MatmulProblem problem = cuda::conv_sm90_problem(a, base, epilogue);
  const size_t before = out.variants.size();
  cuda::add_matmul_sm90(problem, base, device, out);
  // Kernels of clips do not wait for the launch before them.
  for (size_t i = before; i < out.variants.size(); ++i) out.variants[i].launches.back().overlapped = !problem.clip;
}

cuda::Candidates dense_conv_variants(const ConvArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  const Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  cuda::Candidates out(options);
  if (!a.transposed) {
    add_few_columns(a, mma_problem(a, epilogue), device, out);
    add_shallow(a, mma_problem(a, epilogue), device, out);
  }
  add_conv_thin(a, device, out);
  const bool few = a.x.dtype == DType::f32 && !cuda::floats_fill_tiles(a.y.dim(2) * a.y.dim(3), a.y.channels());
  const bool shallow = few || is_shallow(a, device);
  if (shallow) add_portable(a, epilogue, device, out);
  add_conv_sm90(a, device, out);
  if (!shallow) add_portable(a, epilogue, device, out);
  return out;
}

cuda::Candidates conv_cuda_variants(const ConvArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  // No kernel reads two types as one clip.
  if (a.past.present() && a.past.dtype != a.x.dtype) return cuda::Candidates(options);
  // Of several groups, no kernel sees all of the result.
  ConvArgs unmeasured = a;
  unmeasured.moments = Tensor{};
  cuda::Candidates out = a.groups > 1 ? grouped_conv_variants(unmeasured, device, options) : dense_conv_variants(a, device, options);
  add_conv_moments(a, device, out);
  return out;
}

}  // namespace vd
