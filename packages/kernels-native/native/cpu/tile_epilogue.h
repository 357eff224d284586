// From an op's arguments to the epilogue of its tiles: shared by conv and linear.
#pragma once
#include <cstdint>
#include <vector>

#include "../core/float_element.h"
#include "kernels.h"
#include "panels.h"

namespace vd::cpu {

/** True for an absent tensor or one of f32. */
inline bool absent_or_f32(const Tensor& t) { return !t.present() || t.dtype == DType::f32; }

/** Row of a frame bias [1|B, 1|F, N] that a pixel of [B, F, framePixels] takes. */
struct FrameMap {
  int64_t frames = 1;
  int64_t framePixels = 1;
  int64_t clipStep = 0;
  int64_t frameStep = 0;

  FrameMap() = default;
  FrameMap(const Tensor& frameBias, int64_t numFrames, int64_t pixelsPerFrame) : frames(numFrames), framePixels(pixelsPerFrame) {
    if (!frameBias.present()) return;
    clipStep = frameBias.dim(0) > 1 ? frameBias.dim(1) : 0;
    frameStep = frameBias.dim(1) > 1 ? 1 : 0;
  }
  bool varies() const { return clipStep != 0 || frameStep != 0; }
  int64_t row(int64_t pixel) const {
    if (!varies()) return 0;
    const int64_t frame = pixel / framePixels;
    return row(frame / frames, frame % frames);
  }
  int64_t row(int64_t clip, int64_t frame) const { return clip * clipStep + frame * frameStep; }
};

/** True when the SIMD epilogue can serve these arguments: f32 activations, a constant weight, a readable bias. */
template <class Args> bool epilogue_supported(const Args& a) {
  const bool biasFits = !a.bias.present() || is_float(a.bias.dtype);
  return a.x.dtype == DType::f32 && a.y.dtype == DType::f32 && absent_or_f32(a.frameBias) && absent_or_f32(a.residual) &&
         absent_or_f32(a.residual2) && biasFits && a.weight.constant && is_float(a.weight.dtype);
}

/** All of the epilogue but the bias, which has to be packed first. */
template <class Args> Epilogue epilogue_of(const Args& a) {
  Epilogue e;
  if (a.frameBias.present()) {
    e.frameBias = a.frameBias.template as<float>();
    e.frameBiasPitch = a.frameBias.pitch;
    e.gateOffset = a.frameBias.channels() / 2;
  }
  if (a.residual.present()) {
    e.residual = a.residual.template as<float>();
    e.residualPitch = a.residual.pitch;
  }
  if (a.residual2.present()) {
    e.residual2 = a.residual2.template as<float>();
    e.residual2Pitch = a.residual2.pitch;
  }
  e.y = a.y.template as<float>();
  e.yPitch = a.y.pitch;
  e.act = a.act;
  e.outScale = a.outScale;
  e.residualScale = a.residualScale;
  e.residual2Scale = a.residual2Scale;
  return e;
}

/** A bias in packed column order: made once, or before each run when its tensor may change. */
class PackedBias {
 public:
  PackedBias() = default;
  PackedBias(const Tensor& bias, const PanelLayout& layout) : bias_(bias), layout_(layout) {
    if (bias_.present() && bias_.constant) packed_ = pack_bias(bias_, layout_);
  }
  /** Start of the packed bias, or null when there is none. */
  const float* ready() {
    if (!bias_.present()) return nullptr;
    if (!bias_.constant) packed_ = pack_bias(bias_, layout_);
    return packed_.data();
  }

 private:
  Tensor bias_;
  PanelLayout layout_;
  std::vector<float> packed_;
};

}  // namespace vd::cpu
