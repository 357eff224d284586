#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "../../native/cuda/planning/normed_conv.h"
#include "../../native/generated/op_planners.h"
#include "winograd_params.h"

namespace vd {

namespace {

using namespace device;

/** Bytes of transformed tiles and products that the launches of a chunk hand on. Measured on an H200: chunks that stay in L2 lose more to
 *  the ends of their launches than they gain (640 channels, 36x64: 909, 1,034 and 1,454 us with 240, 96 and 32 MiB). */
constexpr int64_t kChunkBytes = int64_t{240} << 20;

cuda::Reason winograd_reason(const ConvWinogradArgs& a, const cuda::DeviceInfo& device) {
  const int64_t channels = a.weight.dims[1], columns = a.y.channels();
  return cuda::first_of({cuda::wgmma_reason(device), cuda::if_so(a.x.dtype != DType::f16, {"is not float16", {}, "x"}),
                         cuda::if_so(a.x2.present() && a.x2.dtype != DType::f16, {"is not float16", {}, "x2"}),
                         cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.x2, "x2", 8, true),
                         cuda::typed_epilogue_reason(cuda::epilogue_operands(a), DType::f16),
                         cuda::if_so(channels % 8 != 0, {"is for multiples of 8 channels, there are #", {channels}}),
                         cuda::if_so(columns % 64 != 0, {"is for multiples of 64 output channels, there are #", {columns}})});
}

/** True where the products that are saved outweigh the tiles that are written and read. Measured on an H200: 320 channels to 320 lose 8 %,
 *  960 to 320 gain 16 %, 640 to 640 a quarter, 1,920 to 1,280 half. */
bool gains(int64_t channels, int64_t columns) { return channels * columns >= 200 * (channels + columns); }

/** The rows of tiles of all frames. */
WinogradTiles all_tiles(const ConvWinogradArgs& a) {
  WinogradTiles tiles{};
  tiles.height = static_cast<int32_t>(a.x.dims[2]);
  tiles.width = static_cast<int32_t>(a.x.dims[3]);
  tiles.tilesDown = static_cast<int32_t>(cuda::ceil_div(tiles.height, kWinogradStep));
  tiles.tilesAcross = static_cast<int32_t>(cuda::ceil_div(tiles.width, kWinogradStep));
  tiles.numRows = static_cast<int32_t>(a.x.dims[0] * a.x.dims[1] * tiles.tilesDown);
  return tiles;
}

cuda::Launch transform_launch(const char* symbol, int64_t channels, int64_t blocks) {
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = kWinogradThreads;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(channels, kWinogradChannels));
  launch.grid[1] = static_cast<uint32_t>(blocks);
  return launch;
}

cuda::Launch input_launch(const ConvWinogradArgs& a, const WinogradTiles& tiles) {
  WinogradInputParams p{};
  p.tiles = tiles;
  p.x = a.x.data;
  p.x2 = a.x2.data;
  p.pitch = a.x.pitch;
  p.pitch2 = a.x2.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.channels2 = static_cast<int32_t>(a.weight.dims[1]) - p.channels;
  if (a.stats.present()) {
    const bool joined = a.stats.dims[1] == 1;
    p.stats = a.stats.as<float>();
    p.statsPitch = a.stats.pitch;
    p.normWeight = a.normWeight.data;
    p.normBias = a.normBias.data;
    p.normWeightType = static_cast<int32_t>(a.normWeight.dtype);
    p.normBiasType = static_cast<int32_t>(a.normBias.dtype);
    p.groups = static_cast<int32_t>(a.stats.dims[2]);
    p.groupChannels = static_cast<int32_t>(a.weight.dims[1]) / p.groups;
    p.framesPerRow = joined ? static_cast<int32_t>(a.x.dims[1]) : 1;
    p.act = static_cast<int32_t>(a.normAct);
  }
  const int64_t across = cuda::ceil_div(tiles.tilesAcross, kWinogradTiles);
  cuda::Launch launch = transform_launch("winograd_input_f16", a.weight.dims[1], tiles.numRows * across);
  launch.set_params(p);
  launch.relocations.push_back({offsetof(WinogradInputParams, v), cuda::Address::workspace(0)});
  return launch;
}

cuda::Launch output_launch(const ConvWinogradArgs& a, const WinogradTiles& tiles, const cuda::BiasSource& bias, uint64_t products) {
  WinogradOutputParams p{};
  p.tiles = tiles;
  p.epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  const int64_t blocks = cuda::ceil_div(static_cast<int64_t>(tiles.numRows) * tiles.tilesAcross, kWinogradTiles);
  cuda::Launch launch = transform_launch("winograd_output_f16", a.y.channels(), blocks);
  launch.set_params(p);
  launch.relocations.push_back({offsetof(WinogradOutputParams, m), cuda::Address::workspace(products)});
  if (bias.present) launch.relocations.push_back({offsetof(WinogradOutputParams, epilogue) + offsetof(Epilogue, bias), bias.address});
  return launch;
}

Tensor tile_matrix(void* data, int64_t rows, int64_t channels) { return {data, DType::f16, 5, {1, 1, 1, rows, channels}, channels, false}; }

/** One product a position: a convolution of 1x1 filters of 36 groups of channels. */
cuda::MatmulProblem product_of_positions(const ConvWinogradArgs& a, int64_t rows, cuda::Address weights) {
  const int64_t channels = a.weight.dims[1];
  const Tensor absent, y = tile_matrix(cuda::place_in_workspace(1), rows, kWinogradPositions * a.y.channels());
  cuda::MatmulProblem p{};
  p.symbolPrefix = "conv_sm90_f16_";
  p.x = tile_matrix(cuda::place_in_workspace(0), rows, kWinogradPositions * channels);
  for (int i = 0; i < 4; ++i) p.source[i] = p.out[i] = i == 3 ? rows : 1;
  for (int i = 0; i < 3; ++i) p.kernel[i] = p.stride[i] = 1;
  p.channels = p.weightChannels = channels;
  p.groups = kWinogradPositions;
  p.phases = 1;
  p.columns = y.channels();
  p.weights = weights;
  p.epilogue = cuda::make_epilogue({absent, absent, absent, absent, y, Activation::none, 1, 0, 0}, 1, rows);
  return p;
}

cuda::Address transformed_filters(cuda::Variant& base, const ConvWinogradArgs& a) {
  PackParams p{};
  p.kind = PackKind::convWinograd;
  p.rows = static_cast<int32_t>(a.y.channels());
  p.channels = p.paddedChannels = static_cast<int32_t>(a.weight.dims[1]);
  p.taps = 1;
  p.count = int64_t{kWinogradPositions} * p.rows * p.channels;
  p.targetType = static_cast<int32_t>(DType::f16);
  return cuda::Address::packed(cuda::add_pack(base, a.weight, "winograd_filters", p));
}

/** The kernels that can multiply some rows of transformed tiles, the best guess first, with their memory in the workspace. */
cuda::Candidates products_of(const ConvWinogradArgs& a, int64_t rows, const cuda::DeviceInfo& device, cuda::Address weights,
                             uint64_t products) {
  cuda::Candidates all(cuda::PlanningOptions{.batchInvariant = true});
  cuda::add_matmul_sm90(product_of_positions(a, rows, weights), {}, device, all);
  for (cuda::Variant& variant : all.variants) {
    cuda::move_to_workspace(variant.launches[0], cuda::place_in_workspace(0), 0);
    cuda::move_to_workspace(variant.launches[0], cuda::place_in_workspace(1), products);
  }
  return all;
}

/** Adds the variants with transforms, one for each kernel that can multiply the tiles of a chunk. */
void add_winograd(const ConvWinogradArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const WinogradTiles whole = all_tiles(a);
  const int64_t rowBytes = int64_t{kWinogradPositions} * whole.tilesAcross * 2;
  const int64_t inputBytes = rowBytes * a.weight.dims[1], productBytes = rowBytes * a.y.channels();
  const int64_t chunks = cuda::ceil_div(whole.numRows, std::max<int64_t>(1, kChunkBytes / (inputBytes + productBytes)));
  const int64_t rows = cuda::ceil_div(whole.numRows, chunks);
  const uint64_t products = cuda::round_up(static_cast<uint64_t>(rows * inputBytes), 256);
  cuda::Variant base;
  base.workspaceBytes = products + cuda::round_up(static_cast<uint64_t>(rows * productBytes), 256);
  const cuda::Address weights = transformed_filters(base, a);
  const cuda::BiasSource bias = cuda::float_bias(base, a.bias, "conv_pack");
  const cuda::Candidates first = products_of(a, rows * whole.tilesAcross, device, weights, products);
  for (const cuda::Variant& product : first.variants) {
    cuda::Variant variant = base;
    variant.name = "winograd_" + product.name.substr(product.name.find('_') + 1);
    for (int64_t row = 0; row < whole.numRows; row += rows) {
      WinogradTiles tiles = whole;
      tiles.firstRow = static_cast<int32_t>(row);
      tiles.numRows = static_cast<int32_t>(std::min(rows, whole.numRows - row));
      cuda::Variant chunk = products_of(a, int64_t{tiles.numRows} * tiles.tilesAcross, device, weights, products).extract(product.name);
      variant.launches.push_back(input_launch(a, tiles));
      variant.launches.push_back(std::move(chunk.launches[0]));
      variant.launches.push_back(output_launch(a, tiles, bias, products));
    }
    out.add(std::move(variant));
  }
}

/** Adds the kernels of conv, behind those of group_norm where statistics are given. */
void add_direct(const ConvWinogradArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options, cuda::Candidates& out) {
  if (a.stats.present()) return cuda::add_norm_and_conv(a, "direct_", device, options, out);
  for (cuda::Variant& variant : conv_cuda_variants(as_conv(a, a.x), device, options).variants) {
    variant.name = "direct_" + variant.name;
    out.add(std::move(variant));
  }
}

}  // namespace

cuda::Candidates conv_winograd_cuda_variants(const ConvWinogradArgs& a, const cuda::DeviceInfo& device,
                                             const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const bool can = out.allows({"winograd_*"}, winograd_reason(a, device));
  const bool wants = gains(a.weight.dims[1], a.y.channels());
  if (can && wants) add_winograd(a, device, out);
  add_direct(a, device, options, out);
  if (can && !wants) add_winograd(a, device, out);
  return out;
}

}  // namespace vd
