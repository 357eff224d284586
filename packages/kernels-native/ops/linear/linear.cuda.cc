#include "../../native/generated/op_planners.h"

#include "../../native/core/activation.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/linear_problem.h"
#include "../../native/cuda/planning/matmul_mma.h"
#include "../../native/cuda/planning/matmul_turned.h"

namespace vd {

namespace {

using namespace device;

cuda::MmaProblem mma_problem(const LinearArgs& a, const Epilogue& epilogue) {
  cuda::MmaProblem problem{a.act == Activation::swiglu ? "linear_swiglu" : "linear", {}, {}, {}, a.x.dtype, a.weight.dtype, {}};
  MatmulMmaParams& p = problem.params;
  p.x = a.x.data;
  p.x2 = a.x2.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  p.pitch2 = a.x2.pitch;
  for (int i = 0; i < 3; ++i) p.source[i] = p.out[i] = p.kernel[i] = p.stride[i] = 1;
  p.rows = static_cast<int32_t>(a.x.pixels());
  p.source[2] = p.out[2] = p.rows;
  p.columns = static_cast<int32_t>(a.weight.dim(0));
  p.channels = static_cast<int32_t>(a.x.channels());
  p.depth = p.tapChannels = static_cast<int32_t>(a.weight.channels());
  p.gated = is_gated(a.act);
  problem.weights = cuda::weight_matrix(problem.base, a.weight, a.x.dtype, "linear_pack");
  const int64_t chunk = 16 / bytes_of(a.x.dtype);
  problem.unchunked = cuda::first_of({cuda::access_reason(a.x, "x", chunk, true), cuda::access_reason(a.x2, "x2", chunk, true)});
  return problem;
}

/** Why the kernel for few tokens cannot do the row. */
cuda::Reason vector_reason(const LinearArgs& a, const cuda::MmaProblem& problem) {
  const int64_t rows = a.x.pixels();
  return cuda::first_of({cuda::if_so(rows > kVectorRows, {"is for at most # tokens, x has #", {kVectorRows, rows}}),
                         cuda::if_so(a.x2.present(), {"has no x2"}), cuda::if_so(is_gated(a.act), {"has no gated activation"}),
                         problem.unchunked, cuda::if_so(problem.params.depth % 8 != 0, {"is for multiples of 8 channels"})});
}

void add_vector(const LinearArgs& a, const cuda::MmaProblem& problem, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  constexpr int kThreads = 128;
  const std::string symbol = "linear_vector_" + cuda::type_name(a.x.dtype);
  if (!out.allows({symbol}, vector_reason(a, problem))) return;
  cuda::Variant variant = cuda::mma_variant(problem, symbol, kThreads, cuda::ceil_div(problem.params.columns, kThreads / 32));
  variant.launches.back().overlapped = device.smVersion >= 90;
  out.add(std::move(variant));
}

/** True for a small row of few products, which the portable core has done before the Hopper core has begun. Measured on an H200: 10 us
 *  instead of 28 for 512 tokens of 192 channels to 3. */
bool is_slim(const LinearArgs& a, const cuda::DeviceInfo& device) {
  constexpr int64_t kFewColumns = 16, kFewProducts = 256;
  const int64_t channels = a.x.channels() + (a.x2.present() ? a.x2.channels() : 0);
  return a.y.channels() <= kFewColumns && channels <= kFewProducts && cuda::ceil_div(a.y.pixels(), 64) <= device.numSms;
}

}  // namespace

cuda::Candidates linear_cuda_variants(const LinearArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  const Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2));
  cuda::Candidates out(options);
  const cuda::MmaProblem portable = mma_problem(a, epilogue);
  add_vector(a, portable, device, out);
  const bool few = a.x.dtype == DType::f32 && !cuda::floats_fill_tiles(a.y.dim(2), a.y.channels());
  const bool slim = few || is_slim(a, device);
  if (slim) cuda::add_matmul_mma(portable, device, out);
  if (out.allows({cuda::kMatmulSm90Family}, cuda::linear_sm90_reason(a, device))) {
    cuda::Variant base;
    const cuda::MatmulProblem problem = cuda::linear_sm90_problem(a, base, epilogue);
    const bool turned = cuda::turned_wins(problem, device);
    if (turned) cuda::add_matmul_turned(problem, base, device, out);
    const size_t before = out.variants.size();
    cuda::add_matmul_sm90(problem, base, device, out);
    for (size_t i = before; i < out.variants.size(); ++i) out.variants[i].launches.back().overlapped = true;
    if (!turned) cuda::add_matmul_turned(problem, base, device, out);
  }
  if (!slim) cuda::add_matmul_mma(portable, device, out);
  return out;
}

}  // namespace vd
