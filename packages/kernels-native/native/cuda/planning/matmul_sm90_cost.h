// How long tiles of the Hopper matrix core take, by estimate, and into how many parts they are cut for it.
#pragma once
#include <utility>

#include "matmul_sm90.h"

namespace vd::cuda {

/** Cycles of a tile, fitted to an H200: products at the tensor rate or tiles through L2, then a tail in
 *  proportion to the columns. Pingpong hides the fixed part of the tail. The constants of rows tiles and of halves tiles (which
 *  take those of staged pingpong tiles) are fitted to SVD-XT's linears with 320 channels and 460800 rows, and elsewhere they are
 *  a guess; for SVD-XT's sizes the device's tuning table decides. */
double tile_cycles(const MatmulProblem& p, const device::MatmulTile& tile, int numKBlocks, int64_t numBlocks, bool alone);

/** Into how many parts rows tiles cut the columns, so that clusters have equally many: each part loads the rows again. */
int column_parts(int64_t numRows, int numNTiles, int64_t numClusters);

/** Into how many parts the blocks of a cluster cut the reduction of a tile, and its estimated cycles, fitted to an H200. */
std::pair<int, double> split_parts(const MatmulProblem& p, const device::MatmulTile& tile, int64_t numTiles, const DeviceInfo& device);

}  // namespace vd::cuda
