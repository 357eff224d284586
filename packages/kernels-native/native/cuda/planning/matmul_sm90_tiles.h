// Which tiles of the Hopper matrix core can do a problem, how their pixels lie, and why others cannot.
#pragma once
#include "tensor_maps.h"

namespace vd::cuda {

/** Steps of 128 bytes of the reduction over x. */
int64_t num_blocks_of_x(const MatmulProblem& p);
/** The same over both sources. */
int64_t num_blocks_of(const MatmulProblem& p);

/** True for a tile whose kernel normalises its source. */
bool normalises(const device::MatmulTile& tile);

/** True where a tile's kernel leaves the moments of its results. */
bool leaves_moments(const MatmulProblem& p, const device::MatmulTile& tile, const Box& box);

/** The box of a tile's pixels. Where moments are wanted it follows from the frame alone, if that gives whole boxes: sums over them have the
 *  same bits however many frames there are. */
Box choose_tile_box(const MatmulProblem& p, int pixels);

/** True for a tile whose source comes once for all taps, with the border that they see. */
bool borders_source(const device::MatmulTile& tile);

/** The box of a tile. chosen: that of tiles of 128 and of 256 pixels which may lie as they like. */
Box tile_box(const MatmulProblem& p, const device::MatmulTile& tile, const Box (&chosen)[2]);

/** Why a tile cannot do the problem. */
Reason tile_reason(const MatmulProblem& p, const device::MatmulTile& tile, const Box& box, const DeviceInfo& device);

}  // namespace vd::cuda
