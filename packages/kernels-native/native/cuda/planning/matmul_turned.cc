#include "matmul_turned.h"

#include <algorithm>
#include <vector>

#include "../../../device/matmul_sm90_turned.h"

namespace vd::cuda {

using namespace device;

namespace {

int64_t num_tokens(const MatmulProblem& p) { return p.out[3]; }
int64_t token_tiles(const MatmulProblem& p, const TurnedTile& tile) { return ceil_div(num_tokens(p), tile.tokens); }
int64_t column_tiles(const MatmulProblem& p, const TurnedTile& tile) { return ceil_div(p.columns, tile.columns); }
int64_t num_tiles(const MatmulProblem& p, const TurnedTile& tile) { return token_tiles(p, tile) * column_tiles(p, tile); }

/** The shape that many tokens are no use for, of which few are left empty, that of so many tokens that one round of blocks has them, and
 * one of as many results whose one warpgroup reads less of shared memory for each product, and takes longer for its tail. */
constexpr const TurnedTile &kFewTokens = kTurnedTiles[0], &kOneRound = kTurnedTiles[1], &kOneRoundLong = kTurnedTiles[2];
static_assert(kFewTokens.tokens == 88 && kOneRound.tokens == 96 && kOneRoundLong.tokens == 192);

/** The shape for products whose larger tiles would leave multiprocessors idle. */
bool is_small(const TurnedTile& tile) { return tile.tokens == 32; }

/** Why a tile cannot do the problem, which is a linear. */
Reason tile_reason(const MatmulProblem& p, const TurnedTile& tile, const DeviceInfo& device) {
  constexpr int64_t kMostTiles = 4;
  const bool few = &tile == &kFewTokens;
  const int64_t most = kMostTiles * tile.tokens, atOnce = int64_t{tile.minBlocks} * device.numSms;
  const int64_t needed = turned_shared_bytes(tile), there = static_cast<int64_t>(device.sharedBytesPerBlock);
  return first_of({if_so(p.x.dtype == DType::f32, {"is for operands of 16 bits"}), if_so(p.channels2 != 0, {"has no x2"}),
                   if_so(p.gated, {"has no gated activation"}), p.untyped,
                   if_so(few && num_tokens(p) > most, {"is for at most # tokens, x has #", {most, num_tokens(p)}}),
                   if_so(!few && num_tiles(p, tile) > atOnce, {"is for at most # tiles, there are #", {atOnce, num_tiles(p, tile)}}),
                   if_so(needed > there, {"needs # bytes of shared memory, a block has #", {needed, there}})});
}

/** A map of rows of p's type, `box` of them at a time; dim: where the map counts rows. */
TensorMapRequest rows_map(uint32_t offset, const Address& base, const MatmulProblem& p, int64_t pitch, int64_t rows, int dim, int box) {
  TensorMapRequest map;
  map.paramOffset = offset;
  map.base = base;
  map.dtype = p.x.dtype;
  map.rank = 4;
  map.dims[0] = static_cast<uint64_t>(p.channels);
  map.dims[dim] = static_cast<uint64_t>(rows);
  map.box[0] = static_cast<uint32_t>(block_channels(p));
  map.box[dim] = static_cast<uint32_t>(box);
  const uint64_t row = static_cast<uint64_t>(pitch * bytes_of(p.x.dtype)), all = row * static_cast<uint64_t>(rows);
  for (int i = 0; i < 3; ++i) map.strideBytes[i] = i < dim ? row : all;
  return map;
}

Launch make_launch(const MatmulProblem& p, const TurnedTile& tile) {
  MatmulTurnedParams params{};
  params.epilogue = p.epilogue;
  params.epilogue.biasType = static_cast<uint8_t>(DType::f32);
  params.numKBlocks = static_cast<int32_t>(ceil_div(p.channels, block_channels(p)));
  params.numTokens = static_cast<int32_t>(num_tokens(p));
  params.numColumnTiles = static_cast<int32_t>(column_tiles(p, tile));
  params.constantWeights = p.constantWeights;
  Launch launch;
  launch.symbol = std::string(p.symbolPrefix) + tile.name;
  launch.block = static_cast<uint32_t>(turned_threads(tile));
  launch.grid[0] = static_cast<uint32_t>(num_tiles(p, tile));
  launch.sharedBytes = static_cast<uint32_t>(turned_shared_bytes(tile));
  launch.set_params(params);
  if (p.bias.present) launch.relocations.push_back({offsetof(MatmulTurnedParams, epilogue) + offsetof(Epilogue, bias), p.bias.address});
  launch.maps.push_back(rows_map(offsetof(MatmulTurnedParams, x), Address::of(p.x.data), p, p.x.pitch, num_tokens(p), 1, tile.tokens));
  launch.maps.push_back(rows_map(offsetof(MatmulTurnedParams, weights), p.weights, p, p.weightChannels, p.columns, 2, tile.columns));
  return launch;
}

}  // namespace

namespace {

/** Measured on an H200: few tokens leave tiles of 128 rows emptier than those of 88 (CLIP's 257 by 1280 to 5120: 10.3 us instead of 19.6).
 */
bool few_tokens_win(const MatmulProblem& p, const DeviceInfo& device) {
  constexpr int64_t kRows = 128;
  const TurnedTile& tile = kFewTokens;
  const int64_t padded = token_tiles(p, tile) * tile.tokens, tiles = num_tiles(p, tile);
  return !tile_reason(p, tile, device) && padded < ceil_div(num_tokens(p), kRows) * kRows && 3 * tiles >= 2 * device.numSms &&
         tiles <= int64_t{tile.minBlocks} * device.numSms;
}

/** Of the tiles of 32 by 64, the one with the deepest ring of which all blocks run at once, or null where not even the last one's do. */
const TurnedTile* small_tile(const MatmulProblem& p, const DeviceInfo& device) {
  for (const TurnedTile& tile : kTurnedTiles)
    if (is_small(tile) && num_tiles(p, tile) <= int64_t{tile.minBlocks} * device.numSms) return &tile;
  return nullptr;
}

/** Measured on an H200: tiles of 32 by 64 that all run at once are done sooner than larger ones, where reductions are short for the ring
 * that there is room for (7,168 tokens of 256 channels to 64: 5.3 us instead of 6.9; 128 of 768 to 768: 3.3; 256 of 1280 to 1280: 7.0). */
bool few_tiles_win(const MatmulProblem& p, const DeviceInfo& device) {
  constexpr int64_t kFewChannels = 768, kFewRings = 3;
  const TurnedTile* tile = small_tile(p, device);
  return tile != nullptr && (p.channels <= kFewChannels || p.channels <= kFewRings * tile->stages * block_channels(p));
}

/** Whether nearly every multiprocessor has one of a tile's blocks. */
bool nearly_fills(const MatmulProblem& p, const TurnedTile& tile, const DeviceInfo& device) {
  return 4 * num_tiles(p, tile) >= 3 * device.numSms;
}

/** Measured on an H100: tiles of which one round of blocks nearly fills the device are done sooner than larger ones, of which it fills
 * less (1,152 tokens of 1280 to 1280: 120 tiles 9.4 us, 90 of 128 by 128 12.2; 2,048 of 640 to 640 and of 192 to 768, with the time of
 * their events: 9.4 and 11.7, 8.8 and 13.9). */
bool one_round_wins(const MatmulProblem& p, const DeviceInfo& device) {
  constexpr int64_t kLeastChannels = 192;
  return !tile_reason(p, kOneRound, device) && nearly_fills(p, kOneRound, device) && p.channels >= kLeastChannels;
}

/** Measured on an H100: long reductions of such products, whose tails are nothing but a bias, take less with one warpgroup (9.2 us of 9.4).
 */
bool one_round_is_long(const MatmulProblem& p, const DeviceInfo& device) {
  constexpr int64_t kLeastChannels = 1280;
  const bool whole = token_tiles(p, kOneRoundLong) * kOneRoundLong.tokens == token_tiles(p, kOneRound) * kOneRound.tokens;
  return !tile_reason(p, kOneRoundLong, device) && nearly_fills(p, kOneRoundLong, device) && whole && p.channels >= kLeastChannels &&
         p.epilogue.act == 0 && p.epilogue.residual == nullptr && p.epilogue.residual2 == nullptr && p.epilogue.frameBias == nullptr;
}

}  // namespace

bool turned_wins(const MatmulProblem& p, const DeviceInfo& device) {
  return few_tokens_win(p, device) || few_tiles_win(p, device) || one_round_wins(p, device);
}

void add_matmul_turned(const MatmulProblem& p, const Variant& base, const DeviceInfo& device, Candidates& out) {
  const TurnedTile* small = few_tiles_win(p, device) || !one_round_wins(p, device) ? small_tile(p, device) : nullptr;
  std::vector<const TurnedTile*> tiles;
  if (few_tokens_win(p, device)) tiles.push_back(&kFewTokens);
  if (small) tiles.push_back(small);
  if (one_round_is_long(p, device)) tiles.push_back(&kOneRoundLong);
  for (const TurnedTile* tile : {&kOneRound, &kFewTokens}) tiles.push_back(tile);
  for (const TurnedTile& tile : kTurnedTiles) tiles.push_back(&tile);
  // Each where it stands first.
  for (auto at = tiles.begin(); at != tiles.end();) at = std::find(tiles.begin(), at, *at) == at ? at + 1 : tiles.erase(at);
  for (const TurnedTile* tile : tiles) {
    if (!out.allows({"sm90_", tile->name}, first_of({out.variance_reason(), tile_reason(p, *tile, device)}))) continue;
    Variant variant = base;
    variant.name = std::string("sm90_") + tile->name;
    variant.launches.push_back(make_launch(p, *tile));
    variant.launches.back().overlapped = true;
    out.add(std::move(variant));
  }
}

}  // namespace vd::cuda
