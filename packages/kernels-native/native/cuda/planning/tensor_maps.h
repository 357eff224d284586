// Boxes of pixels and the tensor maps by which the Hopper matrix core loads and stores them.
#pragma once
#include <array>

#include "matmul_sm90.h"

namespace vd::cuda {

/** Frames, rows and columns of a tile of pixels. */
using Box = std::array<int, 3>;

/** The box of at most `limit` pixels that covers the output with the fewest boxes. */
Box choose_box(const MatmulProblem& problem, int limit);

/** Adds the map by which x, or x2, is loaded; channels: of it; offset: of the map in the parameters. */
void activation_map(Launch& launch, uint32_t offset, const Tensor& x, const MatmulProblem& problem, int64_t channels, const Box& box);

/** Adds the map by which the weights are loaded, half a tile's columns at a time. */
void weight_map(Launch& launch, const MatmulProblem& problem, const device::MatmulTile& tile, int taps);

/** Adds the map of the output, or of a tensor of its shape, as the copy engine moves it for staged tiles: 32 channels of a box. Of four
 *  phases, two neighbouring pixels of a row are one of twice the channels, and two rows are one of twice the pixels. */
void output_map(Launch& launch, uint32_t offset, const void* base, int64_t pitch, const MatmulProblem& problem, const Box& box);

}  // namespace vd::cuda
