#include "linear_problem.h"

#include "../../core/activation.h"
#include "epilogue.h"

namespace vd::cuda {

Reason linear_sm90_reason(const LinearArgs& a, const DeviceInfo& device) {
  const bool gated = is_gated(a.act), second = a.x2.present();
  const auto in_eights = [](const Tensor& t, const char* name) {
    return if_so(t.channels() % 8 != 0, {"has # channels, which 8 does not divide", {t.channels()}, name});
  };
  return first_of({wgmma_reason(device), product_source_reason(a.x, a.weight.dtype, "x"), in_eights(a.x, "x"),
                   if_so(second, product_source_reason(a.x2, a.weight.dtype, "x2")),
                   if_so(second && a.x2.dtype != a.x.dtype, {"has another element type than x", {}, "x2"}),
                   second ? in_eights(a.x2, "x2") : Reason{}, gated ? in_eights(a.y, "y") : Reason{},
                   if_so(gated && a.frameBias.present(), {"has no frame bias with a gated activation"}),
                   if_so(gated && a.residual2.present(), {"has no second residual with a gated activation"})});
}

MatmulProblem linear_sm90_problem(const LinearArgs& a, Variant& base, const device::Epilogue& epilogue) {
  MatmulProblem p{};
  p.symbolPrefix = a.x.dtype == DType::f32 ? "linear_sm90_f32_" : a.x.dtype == DType::f16 ? "linear_sm90_f16_" : "linear_sm90_bf16_";
  p.x = a.x;
  p.x2 = a.x2;
  const int64_t rows = a.x.pixels();
  for (int i = 0; i < 3; ++i) {
    p.source[i] = p.out[i] = 1;
    p.kernel[i] = p.stride[i] = 1;
  }
  p.source[3] = p.out[3] = rows;
  p.channels = a.x.channels();
  p.channels2 = a.x2.present() ? a.x2.channels() : 0;
  p.phases = 1;
  p.columns = a.weight.dim(0);
  p.gated = is_gated(a.act);
  p.suffix = !p.gated ? "" : a.act == Activation::swiglu ? "_swiglu" : "_geglu";
  p.untyped = typed_epilogue_reason(epilogue_operands(a), a.x.dtype);
  p.weights = weight_matrix(base, a.weight, a.x.dtype, "linear_pack");
  p.constantWeights = a.weight.constant;
  p.weightChannels = a.weight.channels();
  p.epilogue = epilogue;
  p.bias = float_bias(base, a.bias, "linear_pack");
  return p;
}

}  // namespace vd::cuda
