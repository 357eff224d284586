// The AMX engine's products. Tiles 0-3 are sums, 4-5 rows, 6-7 columns: a block of 32 x 32 sums loads two tiles for every
// four products.
#include "amx_kernels.h"
#include "simd/amx_tiles.h"

namespace vd::cpu::amx {
namespace {

/** The memory format of LDTILECFG: eight tiles of 16 rows of 64 bytes. */
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

constexpr TileConfig kConfig;

template <bool TWO_ROWS> inline __attribute__((always_inline)) void load_rows(const Block& b, int64_t offset) {
  VD_TILE_LOAD(4, b.rows[0] + offset, b.rowBytes);
  if constexpr (TWO_ROWS) VD_TILE_LOAD(5, b.rows[1] + offset, b.rowBytes);
}

template <bool TWO_COLS> inline __attribute__((always_inline)) void load_cols(const std::byte* tiles) {
  VD_TILE_LOAD(6, tiles, kStepBytes);
  if constexpr (TWO_COLS) VD_TILE_LOAD(7, tiles + kTileBytes, kStepBytes);
}

template <bool TWO_ROWS, bool TWO_COLS> inline __attribute__((always_inline)) void add_products() {
  VD_TILE_MULTIPLY(0, 4, 6);
  if constexpr (TWO_COLS) VD_TILE_MULTIPLY(1, 4, 7);
  if constexpr (TWO_ROWS) VD_TILE_MULTIPLY(2, 5, 6);
  if constexpr (TWO_ROWS && TWO_COLS) VD_TILE_MULTIPLY(3, 5, 7);
}

/** Spreads the pieces of an aside evenly over the products of a block. */
class Spread {
 public:
  Spread(Aside& aside, int64_t products) : aside_(aside), products_(products), pieces_(aside.left) {}
  inline __attribute__((always_inline)) void after_product() {
    for (credit_ += pieces_; credit_ >= products_; credit_ -= products_) {
      if (aside_.left == 0) return;
      aside_.piece(aside_.state);
      --aside_.left;
    }
  }
  void finish() {
    for (; aside_.left > 0; --aside_.left) aside_.piece(aside_.state);
  }

 private:
  Aside& aside_;
  int64_t products_, pieces_;
  int64_t credit_ = 0;
};

/** All products of one step. Between two of them only one side is loaded anew. */
template <int ROW_PARTS, int PARTS, bool TWO_ROWS, bool TWO_COLS>
inline __attribute__((always_inline)) void add_step(const Block& b, const Step& step, Spread& spread) {
  constexpr int64_t kPart = (TWO_COLS ? 2 : 1) * kTileBytes;
  const std::byte* panel = b.panel + step.panelOffset;
  const auto add = [&spread]() __attribute__((always_inline)) {
    add_products<TWO_ROWS, TWO_COLS>();
    spread.after_product();
  };
  load_rows<TWO_ROWS>(b, step.rowOffset);
  if constexpr (PARTS == 3) {
    load_cols<TWO_COLS>(panel + 2 * kPart);
    add();
  }
  if constexpr (PARTS >= 2) {
    load_cols<TWO_COLS>(panel + kPart);
    add();
  }
  load_cols<TWO_COLS>(panel);
  add();
  if constexpr (ROW_PARTS == 3) {
    load_rows<TWO_ROWS>(b, step.rowOffset + 2 * b.partBytes);
    add();
  }
  if constexpr (ROW_PARTS >= 2) {
    load_rows<TWO_ROWS>(b, step.rowOffset + b.partBytes);
    add();
  }
  if constexpr (ROW_PARTS == 3 && PARTS >= 2) {
    load_cols<TWO_COLS>(panel + kPart);
    add();
  }
}

template <int ROW_PARTS, int PARTS, bool TWO_ROWS, bool TWO_COLS> void multiply_as(const Block& b, Aside& aside) {
  constexpr int64_t kProducts = num_products(ROW_PARTS, PARTS);
  VD_TILE_ZERO(0);
  VD_TILE_ZERO(1);
  VD_TILE_ZERO(2);
  VD_TILE_ZERO(3);
  Spread spread(aside, b.numSteps * kProducts);
  for (int64_t s = 0; s < b.numSteps; ++s) add_step<ROW_PARTS, PARTS, TWO_ROWS, TWO_COLS>(b, b.steps[s], spread);
  spread.finish();
  const int64_t pitch = b.sumsPitch * static_cast<int64_t>(sizeof(float));
  VD_TILE_STORE(0, b.sums, pitch);
  if constexpr (TWO_COLS) VD_TILE_STORE(1, b.sums + kSide, pitch);
  if constexpr (TWO_ROWS) VD_TILE_STORE(2, b.sums + kSide * b.sumsPitch, pitch);
  if constexpr (TWO_ROWS && TWO_COLS) VD_TILE_STORE(3, b.sums + kSide * b.sumsPitch + kSide, pitch);
}

template <int ROW_PARTS, int PARTS> void multiply_parts(const Block& b, Aside& aside) {
  const bool twoRows = b.rows[1] != nullptr, twoCols = b.colTiles == 2;
  if (twoRows && twoCols) return multiply_as<ROW_PARTS, PARTS, true, true>(b, aside);
  if (twoRows) return multiply_as<ROW_PARTS, PARTS, true, false>(b, aside);
  if (twoCols) return multiply_as<ROW_PARTS, PARTS, false, true>(b, aside);
  multiply_as<ROW_PARTS, PARTS, false, false>(b, aside);
}

void begin() { VD_TILE_CONFIGURE(kConfig); }

void end() { VD_TILE_RELEASE(); }

void multiply(const Block& block, Aside& aside) {
  // Tile loads are opaque to the compiler: what they read must be in memory by now.
  __asm__ volatile("" ::: "memory");
  if (block.parts == 1) return multiply_parts<1, 1>(block, aside);
  if (block.parts == 2) return block.weightParts == 1 ? multiply_parts<2, 1>(block, aside) : multiply_parts<2, 2>(block, aside);
  if (block.weightParts == 1) return multiply_parts<3, 1>(block, aside);
  if (block.weightParts == 2) return multiply_parts<3, 2>(block, aside);
  multiply_parts<3, 3>(block, aside);
}

}  // namespace

const Tiles kAmxTiles = {begin, end, multiply};

}  // namespace vd::cpu::amx
