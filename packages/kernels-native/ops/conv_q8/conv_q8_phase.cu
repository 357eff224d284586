// One phase of a transposed conv_q8 on every architecture, 2x2 filters whose results are every second row and column: kernels apart from
// conv_q8's (conv_q8.cu), whose results lie one behind the other; and the packing of its filters.
// Symbols: conv_q8_phase_mma_<type>_<tile>, conv_q8_phase_plain_<type>, conv_q8_pack_phases.
#include "../../device/elementwise.cuh"
#include "../../device/matmul_mma_scaled.cuh"
#include "../../device/pack.h"

using namespace vd::device;

namespace {

/** Packs codes as they are, as PackKind::convTransposed: results of a parity meet every second tap, backwards. */
__device__ __forceinline__ void pack_phases(const PackParams& p) {
  const auto* source = static_cast<const uint8_t*>(p.source);
  auto* target = static_cast<uint8_t*>(p.target);
  for_each_item(p.count, [&](int64_t i) {
    const int c = static_cast<int>(i % p.paddedChannels), tap = static_cast<int>(i / p.paddedChannels % p.taps);
    const int64_t line = i / p.paddedChannels / p.taps;
    const int row = static_cast<int>(line % p.rows), phase = static_cast<int>(line / p.rows);
    const int r = 3 - (phase >> 1) - 2 * (tap >> 1), s = 3 - (phase & 1) - 2 * (tap & 1);
    target[i] = c < p.channels ? source[(static_cast<int64_t>(c) * p.rows + row) * 16 + r * 4 + s] : 0;
  });
}

}  // namespace

VD_SCALED_PHASES(conv_q8_phase)
VD_KERNEL(conv_q8_pack_phases, PackParams, 256, 2, pack_phases)
