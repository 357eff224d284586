#include "../../native/generated/op_planners.h"

#include "../../device/matmul_sm90.h"
#include "../../native/cuda/planning/channel_moments.h"
#include "../../native/cuda/planning/conv_q8.h"

namespace vd {

namespace {

/** True for filters that stay in shared memory where there are up to 128 of them. */
bool is_stationary(const ConvQ8Args& a) {
  const bool filter = a.weight.dim(2) == 1 && a.weight.dim(3) == 3 && a.weight.dim(4) == 3 && a.padding[0] == 0;
  return filter && a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1 && a.x.channels() <= 128 && a.y.channels() <= 128;
}

/** The tile whose kernel is the only one where a plan is batch-invariant, by the filters alone: the fastest of those that leave moments. */
const char* invariant_tile(const ConvQ8Args& a) {
  const int64_t columns = a.y.channels(), taps = a.transposed ? 4 : a.weight.dim(2) * a.weight.dim(3) * a.weight.dim(4);
  const bool wide = columns % 128 != 0 && columns % 160 == 0;
  const bool floats = a.x.dtype == DType::f8e4m3,
             one = floats && cuda::ceil_div(a.x.channels(), 128) * taps <= device::kMostUnpromotedBlocks;
  // Wide tiles upsample where boxes cover rows and columns only.
  if (wide) return floats && !a.transposed ? "sm90_m128n160w" : "sm90_m128n160p";
  if (one && !a.transposed && is_stationary(a)) return "sm90_stationary_m128n128";
  if (columns % 256 == 0) return floats ? "sm90_m128n256w" : "sm90_m128n256pw";
  return floats ? "sm90_m256n128w" : "sm90_m256n128pw";
}

}  // namespace

cuda::Candidates conv_q8_cuda_variants(const ConvQ8Args& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const cuda::ConvQ8Operands operands = {
      a.x, a.xScale, a.weight, a.weightScale, nullptr, a.stride, a.padding, cuda::epilogue_operands(a), a.transposed, a.moments.present()};
  cuda::add_conv_q8(operands, device, out);
  if (a.x.dtype == a.weight.dtype) cuda::add_channel_moments({"conv_q8", a.y, a.moments, invariant_tile(a)}, device, out);
  return out;
}

}  // namespace vd
