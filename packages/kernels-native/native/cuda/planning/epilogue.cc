#include "epilogue.h"

#include "../../core/activation.h"

namespace vd::cuda {
namespace {

/** Why eight channels of the tail's operands cannot be moved by 16-byte accesses. */
Reason vector_reason(const EpilogueOperands& o) {
  const auto access = [](const Tensor& t, const char* name) { return access_reason(t, name, 16 / bytes_of(t.dtype), false); };
  return first_of({if_so(o.y.channels() % 8 != 0, {"has # channels, which 8 does not divide", {o.y.channels()}, "y"}), access(o.y, "y"),
                   access(o.residual, "residual"), access(o.residual2, "residual2"),
                   if_so(!aligned16(o.bias.data), {"is not 16-byte aligned", {}, "bias"}), access(o.frameBias, "frameBias")});
}

}  // namespace

device::Epilogue make_epilogue(const EpilogueOperands& o, int64_t frames, int64_t pixelsPerFrame) {
  device::Epilogue e{};
  e.n = static_cast<int32_t>(o.y.channels());
  e.bias = o.bias.data;
  e.frameBias = o.frameBias.data;
  e.residual = o.residual.data;
  e.residual2 = o.residual2.data;
  e.y = o.y.data;
  e.residualPitch = o.residual.pitch;
  e.residual2Pitch = o.residual2.pitch;
  e.yPitch = o.y.pitch;
  if (o.frameBias.present()) {
    e.frameBiasFrameStride = o.frameBias.dim(1) > 1 ? o.frameBias.pitch : 0;
    e.frameBiasBatchStride = o.frameBias.dim(0) > 1 ? o.frameBias.pitch * o.frameBias.dim(1) : 0;
  }
  e.framesPerBatch = static_cast<int32_t>(frames);
  e.pixelsPerFrame = static_cast<int32_t>(pixelsPerFrame);
  e.act = is_gated(o.act) ? 0 : static_cast<int32_t>(o.act);
  e.outScale = o.outScale;
  e.residualScale = o.residualScale;
  e.residual2Scale = o.residual2Scale;
  e.biasType = static_cast<uint8_t>(o.bias.dtype);
  e.frameBiasType = static_cast<uint8_t>(o.frameBias.dtype);
  e.residualType = static_cast<uint8_t>(o.residual.dtype);
  e.residual2Type = static_cast<uint8_t>(o.residual2.dtype);
  e.yType = static_cast<uint8_t>(o.y.dtype);
  e.vector = !vector_reason(o);
  return e;
}

Reason typed_epilogue_reason(const EpilogueOperands& o, DType dtype) {
  const auto same = [&](const Tensor& t, const char* name) {
    const bool codes = t.dtype == DType::f8e4m3 || t.dtype == DType::i8;  // of a result; tiles say by themselves whether they leave them
    return if_so(t.present() && t.dtype != dtype && !codes, {"has another element type than x", {}, name});
  };
  return first_of(
      {vector_reason(o), same(o.frameBias, "frameBias"), same(o.residual, "residual"), same(o.residual2, "residual2"), same(o.y, "y")});
}

}  // namespace vd::cuda
