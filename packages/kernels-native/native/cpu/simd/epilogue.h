// Everything between a tile's sums and y, in one pass over the tile.
#pragma once
#include "../../core/activation.h"
#include "../kernels.h"
#include "load.h"
#include "math.h"

namespace vd::cpu::VD_ISA {

/** Scales, adds the residuals and stores `n` elements of a row of y from column `col` on. */
template <bool PLAIN> static inline void finish(const Epilogue& e, Vec value, int64_t pixel, int64_t col, int64_t n) {
  if constexpr (!PLAIN) {
    value = value * Vec::all(e.outScale);
    if (e.residual) {
      value = Vec::fma(load_n(e.residual + pixel * e.residualPitch + col, n), Vec::all(e.residualScale), value);
    }
    if (e.residual2) {
      value = Vec::fma(load_n(e.residual2 + pixel * e.residual2Pitch + col, n), Vec::all(e.residual2Scale), value);
    }
  }
  store_n(value, e.y + pixel * e.yPitch + col, n);
}

/** A vector of y before `finish`, from its sum and, gated, that of its gate. frameBias: at its column, or null. */
template <Activation ACT, bool PLAIN>
static inline Vec activated(const Epilogue& e, Vec value, Vec gate, const float* frameBias, int64_t n) {
  if constexpr (!PLAIN) {
    if (frameBias) value = value + load_n(frameBias, n);
  }
  if constexpr (is_gated(ACT)) {
    if constexpr (!PLAIN) {
      if (frameBias) gate = gate + load_n(frameBias + e.gateOffset, n);
    }
    return value * activate<gate_of(ACT)>(gate);
  }
  return activate<ACT>(value);
}

/** `PLAIN`: nothing but bias and activation. */
template <Activation ACT, bool PLAIN>
static void store_tile_of(const Epilogue& e, const float* sums, int64_t sumsPitch, const TileRows& rows, int first, int end,
                          const TileCols& cols) {
  const int64_t gate = cols.panelCols / 2;
  const float* bias = e.bias ? e.bias + cols.packedCol : nullptr;
  for (int64_t c = 0; c < cols.outCols; c += Vec::kWidth) {
    const int64_t n = cols.outCols - c;
    const Vec biasHere = bias ? Vec::load(bias + c) : Vec::zero();
    const Vec gateBias = is_gated(ACT) && bias ? Vec::load(bias + gate + c) : Vec::zero();
    for (int r = first; r < end; ++r) {
      const float* row = sums + r * sumsPitch + c;
      const float* frameBias = !PLAIN && e.frameBias ? e.frameBias + rows.frame[r] * e.frameBiasPitch + cols.outCol + c : nullptr;
      const Vec second = is_gated(ACT) ? Vec::load(row + gate) + gateBias : Vec::zero();
      const Vec value = activated<ACT, PLAIN>(e, Vec::load(row) + biasHere, second, frameBias, n);
      finish<PLAIN>(e, value, rows.pixel[r], cols.outCol + c, n);
    }
  }
}

static inline bool is_plain(const Epilogue& e) { return !e.frameBias && !e.residual && !e.residual2 && e.outScale == 1.0f; }

template <Activation ACT>
static void store_tile_act(const Epilogue& e, const float* sums, int64_t sumsPitch, const TileRows& rows, int first, int end,
                           const TileCols& cols) {
  if (is_plain(e)) return store_tile_of<ACT, true>(e, sums, sumsPitch, rows, first, end, cols);
  store_tile_of<ACT, false>(e, sums, sumsPitch, rows, first, end, cols);
}

static void store_tile(const Epilogue& e, const float* sums, int64_t sumsPitch, const TileRows& rows, int first, int end,
                       const TileCols& cols) {
  switch (e.act) {
    case Activation::none: return store_tile_act<Activation::none>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::silu: return store_tile_act<Activation::silu>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::gelu: return store_tile_act<Activation::gelu>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::gelu_tanh: return store_tile_act<Activation::gelu_tanh>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::quick_gelu: return store_tile_act<Activation::quick_gelu>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::relu: return store_tile_act<Activation::relu>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::geglu: return store_tile_act<Activation::geglu>(e, sums, sumsPitch, rows, first, end, cols);
    case Activation::swiglu: return store_tile_act<Activation::swiglu>(e, sums, sumsPitch, rows, first, end, cols);
  }
}

}  // namespace vd::cpu::VD_ISA
