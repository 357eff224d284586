#include "matmul_sm90_cost.h"

#include <algorithm>

#include "matmul_sm90_tiles.h"

namespace vd::cuda {

using namespace device;

namespace {

/** Bytes a cycle that a block reads through L2 beside so many others, fitted to an H200. */
double load_rate(int64_t numBlocks) { return std::min(67.0, 5280.0 / static_cast<double>(numBlocks)); }

/** How much longer than others the products of a tile of 8-bit operands, or of float32, take. Measured on an H200: sums that are promoted
 * after every block keep the tensor cores waiting, those of integers longer. */
double promotion_cost(const MatmulProblem& p, const MatmulTile& tile) {
  if (tile.floats) return 2.2;  // two products of tensor cores for one
  if (tile.promote != 1 || tile.blocked) return 1;
  return p.x.dtype == DType::i8 ? 1.35 : 1.15;
}

/** Clusters of so many blocks that run at once. */
int64_t num_clusters(const DeviceInfo& device, int blocks) {
  constexpr int kGroup = 16;  // a cluster lies in one group of multiprocessors
  if (blocks == 1) return device.numSms;
  if (device.clusters[blocks] > 0) return device.clusters[blocks];
  return std::max(1, device.numSms / kGroup * (kGroup / blocks));
}

}  // namespace

double tile_cycles(const MatmulProblem& p, const MatmulTile& tile, int numKBlocks, int64_t numBlocks, bool alone) {
  if (keeps_rows(tile)) return tile.tileM * tile.tileN * (p.gated ? 0.2 : 0.21);
  // The products of a stationary tile wait for nothing between them.
  const double waits = tile.kernel == MatmulKernel::stationary ? 1 : 1.1;
  const double products = tile.tileM * tile.tileN / 32.0 * numKBlocks * waits * promotion_cost(p, tile);
  const double rows = borders_source(tile) ? bordered_source_pixels(tile) / static_cast<double>(kFilterTaps) : tile.tileM;
  const double filters = tile.kernel == MatmulKernel::stationary ? 0 : tile.tileN / static_cast<double>(tile.cluster);
  const double loads = (rows + filters) * 128.0 / load_rate(numBlocks) * numKBlocks;
  const double direct = !p.gated ? 0.14 : tile.pingpong ? 0.21 : 0.16, staged = !p.gated ? 0.09 : tile.pingpong ? 0.12 : 0.13;
  // Measured on an H200: where there are 64 columns at most, wider tiles take up to half as long again as one of their width;
  // but not where a block has one tile.
  const double empty = p.columns <= 64 && tile.tileN > 64 ? (alone ? 1.3 : 1.6) : 1;
  // Measured on an H200: 8-bit operands, then gelu or silu, in tiles of 128 columns take up to twice as long as two of 64.
  const double activated = bytes_of(p.x.dtype) == 1 && p.epilogue.act != 0 && !p.gated && tile.tileN > 64 ? 2 : 1;
  // Measured on an H100: of a block's only tile one warpgroup computes all, and 64x64 pixels of 320 channels, 3x3, take 25 us instead
  // of 15.
  const bool taps = p.kernel[0] * p.kernel[1] * p.kernel[2] > 1;
  const double lone = tile.pingpong && alone && taps && tile.kernel == MatmulKernel::tiles ? 1.3 : 1;
  return activated * empty * lone *
         (std::max(products, loads) + tile.tileM * tile.tileN * (tile.staged ? staged : direct) +
          (tile.pingpong ? 0
           : tile.wide   ? 500
                         : 1500));
}

int column_parts(int64_t numRows, int numNTiles, int64_t numClusters) {
  int best = 1;
  double bestCost = 1e300;
  for (int parts = 1; parts <= std::min(numNTiles, 4); ++parts) {
    const double cost =
        static_cast<double>(ceil_div(numRows * parts, numClusters)) * (static_cast<double>(ceil_div(numNTiles, parts)) + 0.75);
    if (cost < bestCost) {
      bestCost = cost;
      best = parts;
    }
  }
  return best;
}

std::pair<int, double> split_parts(const MatmulProblem& p, const MatmulTile& tile, int64_t numTiles, const DeviceInfo& device) {
  constexpr double kMergeRate = 16;  // bytes a cycle that a block reads of others' shared memory
  const bool bordered = tile.kernel == MatmulKernel::bordered;
  // Fitted to rows of live networks on an H100, as is what is fixed: tiles of 160 columns take longer than their products say.
  const double waits = bordered && tile.tileN > 128 ? 1.3 : 1.1;
  const int64_t numKBlocks = num_blocks_of(p);
  const double rows = borders_source(tile) ? bordered_source_pixels(tile) / static_cast<double>(kFilterTaps) : tile.tileM;
  const double products = tile.tileM * tile.tileN / 32.0 * waits * promotion_cost(p, tile), bytes = (rows + tile.tileN) * 128.0;
  const int fewest = bordered ? 1 : 2;
  std::pair<int, double> best{fewest, 1e300};
  for (int parts = fewest; parts <= std::min<int64_t>(kMostSplitParts, numKBlocks); ++parts) {
    const int64_t clusters = std::min(numTiles, num_clusters(device, parts));
    const double share = static_cast<double>(ceil_div(numKBlocks, parts)) * std::max(products, bytes / load_rate(clusters * parts));
    const double fixed = !bordered ? 4000 : parts == 1 ? 3000 : 4500;
    const double cycles = static_cast<double>(ceil_div(numTiles, clusters)) * (share + tile.tileM * tile.tileN * 4 / kMergeRate + fixed);
    if (cycles < best.second) best = {parts, cycles};
  }
  return best;
}

}  // namespace vd::cuda
