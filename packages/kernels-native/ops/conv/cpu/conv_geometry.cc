#include "conv_geometry.h"

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/widen.h"

namespace vd::cpu {
namespace {

int64_t floor_half(int64_t value) { return value >= 0 ? value / 2 : -((1 - value) / 2); }

/** Positions along one axis: offset in the input and the filter positions that fall on it. */
struct AxisTap {
  int64_t offset;
  std::vector<int64_t> sources;
};

/** Along an axis that is transposed with a step of 2: position i reads its pixel where parity + padding - i is even. */
std::vector<AxisTap> transposed_taps(int64_t kernel, int64_t padding, int64_t parity) {
  std::vector<AxisTap> taps;
  for (int64_t i = kernel - 1; i >= 0; --i) {
    const int64_t spread = parity + padding - i;
    if (spread % 2 == 0) taps.push_back({spread / 2, {i}});
  }
  return taps;
}

std::vector<AxisTap> axis_taps(int64_t kernel, int64_t padding, bool upsample, int64_t parity) {
  std::vector<AxisTap> taps;
  for (int64_t i = 0; i < kernel; ++i) {
    const int64_t at = upsample ? floor_half(parity - padding + i) : i - padding;
    if (taps.empty() || taps.back().offset != at) taps.push_back({at, {}});
    taps.back().sources.push_back(i);
  }
  return taps;
}

/** Along rows (axis 1) or columns (axis 2). */
std::vector<AxisTap> taps_along(const ConvArgs& a, int axis, int64_t parity) {
  const int64_t kernel = a.weight.dim(2 + axis), padding = a.padding[2 * axis];
  return a.transposed ? transposed_taps(kernel, padding, parity) : axis_taps(kernel, padding, a.upsample, parity);
}

ConvPhase phase_of(const ConvArgs& a, int64_t rowParity, int64_t colParity) {
  const int64_t step = a.upsample || a.transposed ? 2 : 1;
  const int64_t firstFrame = -a.padding[0] - (a.past.present() ? a.past.dim(1) : 0);
  ConvPhase phase;
  phase.rows = (a.y.dim(2) - rowParity + step - 1) / step;
  phase.cols = (a.y.dim(3) - colParity + step - 1) / step;
  phase.firstRow = rowParity;
  phase.firstCol = colParity;
  phase.rowStep = phase.colStep = step;
  phase.frameStep = a.stride[0];
  phase.inRowStep = a.transposed ? 1 : a.stride[1];
  phase.inColStep = a.transposed ? 1 : a.stride[2];
  for (int64_t f = 0; f < a.weight.dim(2); ++f) {
    for (const AxisTap& h : taps_along(a, 1, rowParity)) {
      for (const AxisTap& w : taps_along(a, 2, colParity)) {
        ConvTap tap{f + firstFrame, h.offset, w.offset, {}};
        for (const int64_t sourceH : h.sources) {
          for (const int64_t sourceW : w.sources) tap.sources.push_back({f, sourceH, sourceW});
        }
        phase.taps.push_back(std::move(tap));
      }
    }
  }
  return phase;
}

/** Of filters whose elements all lie beside each other, output channels first. */
RowSource packed_rows(const Tensor& weight, const std::vector<ConvTap>& taps) {
  return [weight, taps](int64_t n, float* row) {
    const int64_t channels = weight.dim(1), size = weight.dim(2) * weight.dim(3) * weight.dim(4);
    std::vector<float> filter(static_cast<size_t>(channels * size));
    widen(weight, n * channels * size, channels * size, filter.data());
    for (const ConvTap& tap : taps) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (const ConvTap::Source& s : tap.sources)
          sum += filter[static_cast<size_t>(c * size + (s.f * weight.dim(3) + s.h) * weight.dim(4) + s.w)];
        *row++ = static_cast<float>(sum);
      }
    }
  };
}

}  // namespace

std::vector<ConvPhase> conv_phases(const ConvArgs& args) {
  std::vector<ConvPhase> phases;
  const int64_t parities = args.upsample || args.transposed ? 2 : 1;
  for (int64_t row = 0; row < parities; ++row) {
    for (int64_t col = 0; col < parities; ++col) {
      ConvPhase phase = phase_of(args, row, col);
      if (phase.rows > 0 && phase.cols > 0) phases.push_back(std::move(phase));
    }
  }
  return phases;
}

RowSource conv_rows(const ConvArgs& args, const ConvPhase& phase) {
  if (!args.transposed && args.weight.pitch == args.weight.dim(4)) return packed_rows(args.weight, phase.taps);
  return [weight = args.weight, transposed = args.transposed, taps = phase.taps](int64_t n, float* row) {
    const int64_t channels = weight.dim(transposed ? 0 : 1);
    for (const ConvTap& tap : taps) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (const ConvTap::Source& s : tap.sources) {
          const int64_t filter = transposed ? c * weight.dim(1) + n : n * channels + c;
          const int64_t filterRow = (filter * weight.dim(2) + s.f) * weight.dim(3) + s.h;
          sum += load_element(weight.data, weight.dtype, filterRow * weight.pitch + s.w);
        }
        *row++ = static_cast<float>(sum);
      }
    }
  };
}

std::vector<int64_t> conv_facts(const ConvArgs& args, const ConvPhase& phase) {
  std::vector<int64_t> facts;
  for (int i = 0; i < 5; ++i) facts.push_back(args.weight.dim(i));
  facts.insert(facts.end(), {args.weight.pitch, static_cast<int64_t>(args.weight.dtype), args.transposed});
  for (const ConvTap& tap : phase.taps) {
    facts.push_back(static_cast<int64_t>(tap.sources.size()));
    for (const ConvTap::Source& s : tap.sources) facts.insert(facts.end(), {s.f, s.h, s.w});
  }
  return facts;
}

ClipFrames::ClipFrames(const ConvArgs& args)
    : x_(args.x.as<float>()),
      past_(args.past.as<float>()),
      frames_(args.x.dim(1)),
      pastFrames_(args.past.present() ? args.past.dim(1) : 0),
      framePixels_(args.x.dim(2) * args.x.dim(3)),
      pitch_(args.x.pitch),
      pastPitch_(args.past.pitch),
      repeats_(args.framePadding == FramePadding::replicate) {}

}  // namespace vd::cpu
