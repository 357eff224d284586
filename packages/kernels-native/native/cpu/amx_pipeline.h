// Keeps the tiles busy: while one block is multiplied, the vector units store the block before and split what comes next.
#pragma once
#include <cstdint>
#include <vector>

#include "amx_kernels.h"
#include "amx_panels.h"
#include "kernels.h"

namespace vd::cpu::amx {

/** A run of up to sixteen rows: where their split values begin, which steps they take, and where results go. */
struct Unit {
  int64_t offset;  // bytes in the split region
  size_t table;    // of Pass::tables
  int64_t need;    // pieces of the packer that must be done before
  TileRows out;
};

/** Fills the split region piece by piece, in the order in which units need it. */
class Packer {
 public:
  virtual ~Packer() = default;
  /** Does the next piece: about a hundred instructions. */
  virtual void piece() = 0;
};

/** Floats of work space for sums: two blocks, one computed while the other is stored. */
inline constexpr int64_t kSumsFloats = 2 * kBlockSide * kBlockSide;

/** True when so many weight tiles stay in a 2 MiB second-level cache beside the split region. */
constexpr bool keeps_weights(int64_t numTiles) { return numTiles * kTileBytes <= int64_t{768} << 10; }

/** Everything that the units of a task have in common. */
struct Pass {
  const Kernels* kernels;
  Engine engine;
  const PackedWeights* weights;
  size_t firstPanel, endPanel;
  bool unitsOutside;  // each unit over all panels before the next: weights that stay in the cache, and not compact ones
  const std::vector<std::vector<Step>>* tables;  // [2]: for panels of one and of two tiles
  int64_t rowBytes, partBytes;
  Epilogue epilogue;
  const std::byte* region;
  float* sums;          // kSumsFloats
  std::byte* expanded;  // PackedWeights::expanded_bytes()
};

/** Multiplies units with panels. One packer serves all passes of a task, so that it is kept between them. */
class Pipeline {
 public:
  explicit Pipeline(Packer& packer) : packer_(packer) {}
  /** Runs all units over the pass's panels. Tile registers must be set up. */
  void run(const Pass& pass, const std::vector<Unit>& units);

 private:
  /** A block whose sums wait to be stored. */
  struct Pending {
    const Unit* units[2];
    const Panel* panel = nullptr;
    const float* sums = nullptr;
    int row = 0;  // next row to store, over both units
  };

  void multiply(const Pass& pass, const Panel& panel, const std::vector<Unit>& units, size_t first, int64_t ahead);
  void ensure(int64_t pieces);
  void store_piece(const Pass& pass);
  static void next_piece(void* state);

  Packer& packer_;
  int64_t packed_ = 0;
  Pending pending_;
  int64_t storesLeft_ = 0;  // pieces of pending_
  const Pass* pass_ = nullptr;
  int flip_ = 0;
};

}  // namespace vd::cpu::amx
