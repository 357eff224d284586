#include "plan.h"

#include <algorithm>
#include <array>

namespace vd::device {

namespace {

bool wide(const Tensor& t) {
  const int64_t step = 16 / bytes_of(t.dtype);
  return !t.present() || (cuda::aligned16(t.data) && t.pitch % step == 0);
}

}  // namespace

Epilogue make_epilogue(const EpilogueOperands& o, int64_t frames, int64_t pixelsPerFrame) {
  Epilogue e{};
  const bool geglu = o.act == Activation::geglu;
  e.n = static_cast<int32_t>(o.y.channels());
  e.bias = o.bias.data;
  e.frameBias = o.frameBias.data;
  e.residual = o.residual.data;
  e.residual2 = o.residual2.data;
  e.y = o.y.data;
  e.residualPitch = o.residual.pitch;
  e.residual2Pitch = o.residual2.pitch;
  e.yPitch = o.y.pitch;
  if (o.frameBias.present()) {
    e.frameBiasFrameStride = o.frameBias.dim(1) > 1 ? o.frameBias.pitch : 0;
    e.frameBiasBatchStride = o.frameBias.dim(0) > 1 ? o.frameBias.pitch * o.frameBias.dim(1) : 0;
  }
  e.framesPerBatch = static_cast<int32_t>(frames);
  e.pixelsPerFrame = static_cast<int32_t>(pixelsPerFrame);
  e.act = geglu ? 0 : static_cast<int32_t>(o.act);
  e.outScale = o.outScale;
  e.residualScale = o.residualScale;
  e.residual2Scale = o.residual2Scale;
  e.biasType = static_cast<uint8_t>(o.bias.dtype);
  e.frameBiasType = static_cast<uint8_t>(o.frameBias.dtype);
  e.residualType = static_cast<uint8_t>(o.residual.dtype);
  e.residual2Type = static_cast<uint8_t>(o.residual2.dtype);
  e.yType = static_cast<uint8_t>(o.y.dtype);
  e.vector = e.n % 8 == 0 && wide(o.y) && wide(o.residual) && wide(o.residual2) && cuda::aligned16(o.bias.data) && wide(o.frameBias);
  return e;
}

int add_pack(cuda::Plan& plan, const Tensor& source, const char* symbol, PackParams params) {
  params.source = source.data;
  params.sourceType = static_cast<int32_t>(source.dtype);
  cuda::Pack pack;
  pack.source = source.data;
  pack.kind = static_cast<int>(params.kind);
  pack.variant = params.targetType;
  pack.bytes = params.count * bytes_of(static_cast<DType>(params.targetType));
  pack.constant = source.constant;
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(cuda::ceil_div(params.count, 256), 4096));
  launch.set_params(params);
  const int index = static_cast<int>(plan.packs.size());
  launch.relocations.push_back({offsetof(PackParams, target), cuda::Address::packed(index)});
  pack.launches.push_back(std::move(launch));
  plan.packs.push_back(std::move(pack));
  return index;
}

bool typed_epilogue(const EpilogueOperands& o, const Epilogue& epilogue, DType dtype) {
  const auto same = [&](const Tensor& t) { return !t.present() || t.dtype == dtype; };
  return epilogue.vector && same(o.frameBias) && same(o.residual) && same(o.residual2) && same(o.y);
}

BiasSource float_bias(cuda::Plan& plan, const Tensor& bias, const char* packSymbol) {
  if (!bias.present()) return {};
  if (bias.dtype == DType::f32) return {true, cuda::Address::of(bias.data)};
  PackParams p{};
  p.kind = PackKind::convert;
  p.count = bias.channels();
  p.rows = 1;
  p.channels = p.paddedChannels = static_cast<int32_t>(p.count);
  p.taps = 1;
  p.targetType = static_cast<int32_t>(DType::f32);
  return {true, cuda::Address::packed(add_pack(plan, bias, packSymbol, p))};
}

cuda::Address weight_matrix(cuda::Plan& plan, const Tensor& weight, DType dtype, const char* packSymbol) {
  if (weight.dtype == dtype && weight.pitch == weight.channels() && cuda::aligned16(weight.data)) return cuda::Address::of(weight.data);
  PackParams p{};
  p.kind = PackKind::convert;
  p.count = weight.count();
  p.rows = static_cast<int32_t>(weight.dim(0));
  p.channels = p.paddedChannels = static_cast<int32_t>(weight.channels());
  p.taps = 1;
  p.targetType = static_cast<int32_t>(dtype);
  return cuda::Address::packed(add_pack(plan, weight, packSymbol, p));
}

bool copyable(const Tensor& t) {
  return bytes_of(t.dtype) == 2 && t.dtype != DType::i8 && cuda::aligned16(t.data) && t.pitch % 8 == 0;
}

namespace {

/** The box [F, H, W] of at most `limit` pixels that covers the output with the fewest boxes. */
std::array<int, 3> choose_box(const MatmulProblem& p, int limit) {
  std::array<int, 3> best = {1, 1, 1};
  int64_t bestCount = INT64_MAX;
  const auto cap = [&](int axis, int64_t extent) {
    return std::min<int64_t>(extent, 1 + 255 / p.stride[axis]);
  };
  for (int w = static_cast<int>(std::min<int64_t>(cap(2, p.out[3]), limit)); w >= 1; --w) {
    for (int h = static_cast<int>(std::min<int64_t>(cap(1, p.out[2]), limit / w)); h >= 1; --h) {
      const int f = static_cast<int>(std::min<int64_t>(cap(0, p.out[1]), limit / (w * h)));
      // Fewest frames that need the same number of boxes, so that boxes are filled evenly.
      const int64_t boxesF = cuda::ceil_div(p.out[1], f);
      const int64_t count = boxesF * cuda::ceil_div(p.out[2], h) * cuda::ceil_div(p.out[3], w);
      if (count < bestCount) {
        bestCount = count;
        best = {f, h, w};
      }
    }
  }
  return best;
}

void activation_map(cuda::Launch& launch, uint32_t offset, const Tensor& x, const MatmulProblem& p, int64_t channels,
                    const std::array<int, 3>& box) {
  cuda::TensorMapRequest map;
  map.paramOffset = offset;
  map.base = cuda::Address::of(x.data);
  map.dtype = x.dtype;
  map.rank = 5;
  const uint64_t pixel = x.pitch * bytes_of(x.dtype);
  const int64_t* s = p.source;
  const uint64_t dims[5] = {uint64_t(channels), uint64_t(s[3]), uint64_t(s[2]), uint64_t(s[1]), uint64_t(s[0])};
  std::copy(dims, dims + 5, map.dims);
  uint64_t stride = pixel;
  for (int i = 0; i < 4; ++i) {
    map.strideBytes[i] = stride;
    stride *= dims[i + 1];
  }
  map.box[0] = 64;
  for (int i = 0; i < 3; ++i) {
    map.box[1 + i] = static_cast<uint32_t>((box[2 - i] - 1) * p.stride[2 - i] + 1);
    map.elementStrides[1 + i] = static_cast<uint32_t>(p.stride[2 - i]);
  }
  launch.maps.push_back(map);
}

void weight_map(cuda::Launch& launch, const MatmulProblem& p, const MatmulTile& tile, int taps) {
  cuda::TensorMapRequest map;
  map.paramOffset = offsetof(MatmulSm90Params, b);
  map.base = p.weights;
  map.dtype = p.x.dtype;
  map.rank = 4;
  const uint64_t row = p.weightChannels * 2;
  const uint64_t total = p.channels2 > 0 ? p.channels + p.channels2 : p.channels;
  map.dims[0] = total;
  map.box[0] = 64;
  if (p.geglu) {
    const uint64_t half = p.columns / 2;
    const uint64_t dims[3] = {8, 2, half / 8}, strides[3] = {row, half * row, 8 * row};
    const uint32_t box[3] = {8, 2, static_cast<uint32_t>(tile.tileN / 32)};
    for (int i = 0; i < 3; ++i) {
      map.dims[1 + i] = dims[i];
      map.strideBytes[i] = strides[i];
      map.box[1 + i] = box[i];
    }
  } else {
    const uint64_t n = p.columns;
    const uint64_t dims[3] = {uint64_t(taps), n, uint64_t(p.phases)}, strides[3] = {row, taps * row, n * taps * row};
    for (int i = 0; i < 3; ++i) {
      map.dims[1 + i] = dims[i];
      map.strideBytes[i] = strides[i];
    }
    map.box[2] = static_cast<uint32_t>(tile.tileN / 2);
  }
  launch.maps.push_back(map);
}

/** The output, or a tensor of its shape, as the copy engine moves it for staged tiles: boxes of 32 channels. */
void output_map(cuda::Launch& launch, uint32_t offset, const void* base, int64_t pitch, const MatmulProblem& p, const std::array<int, 3>& box) {
  cuda::TensorMapRequest map;
  map.paramOffset = offset;
  map.base = cuda::Address::of(base);
  map.dtype = p.x.dtype;
  map.rank = 5;
  map.swizzleBytes = 64;
  map.dims[0] = static_cast<uint64_t>(p.epilogue.n);
  map.box[0] = 32;
  uint64_t stride = static_cast<uint64_t>(pitch) * 2;
  for (int i = 0; i < 4; ++i) {
    map.dims[1 + i] = static_cast<uint64_t>(p.out[3 - i]);
    map.strideBytes[i] = stride;
    stride *= map.dims[1 + i];
  }
  for (int i = 0; i < 3; ++i) map.box[1 + i] = static_cast<uint32_t>(box[2 - i]);
  launch.maps.push_back(map);
}

/** True when staged tiles can do the row: no second residual without a first, no phases, and a tile's frame bias is one
 *  vector. */
bool fits_staged(const MatmulProblem& p, const std::array<int, 3>& box) {
  const Epilogue& e = p.epilogue;
  if (p.phases != 1 || (e.residual2 != nullptr && (p.geglu || e.residual == nullptr))) return false;
  const bool frames = p.out[2] * p.out[3] == e.pixelsPerFrame && box[0] == 1;
  const bool rows = p.out[1] * p.out[2] == 1 && e.pixelsPerFrame % box[2] == 0;
  return e.frameBias == nullptr || frames || rows;
}

/** Cycles of a tile, fitted to an H200: products at the tensor rate or tiles through L2 at 40 bytes a cycle, then a tail in
 *  proportion to the columns. Pingpong hides the fixed part of the tail. The constants of rows tiles and of halves tiles (which
 *  take those of staged pingpong tiles) are fitted to SVD-XT's linears with 320 channels and 460800 rows, and elsewhere they are
 *  a guess; for SVD-XT's sizes the device's tuning table decides. */
double tile_cycles(const MatmulProblem& p, const MatmulTile& tile, int numKBlocks) {
  if (tile.kernel == MatmulKernel::rows) return tile.tileM * tile.tileN * (p.geglu ? 0.2 : 0.21);
  const double products = tile.tileM * tile.tileN / 32.0 * numKBlocks * 1.1;
  const double loads = (tile.tileM + tile.tileN / static_cast<double>(tile.cluster)) * 128.0 / 40.0 * numKBlocks;
  const double direct = !p.geglu ? 0.14 : tile.pingpong ? 0.21 : 0.16, staged = !p.geglu ? 0.09 : tile.pingpong ? 0.12 : 0.13;
  return std::max(products, loads) + tile.tileM * tile.tileN * (tile.staged ? staged : direct) + (tile.pingpong ? 0 : 1500);
}

/** Into how many parts rows tiles cut the columns, so that clusters have equally many: each part loads the rows again. */
int column_parts(int64_t numRows, int numNTiles, int64_t numClusters) {
  int best = 1;
  double bestCost = 1e300;
  for (int parts = 1; parts <= std::min(numNTiles, 4); ++parts) {
    const double cost = static_cast<double>(cuda::ceil_div(numRows * parts, numClusters)) * (static_cast<double>(cuda::ceil_div(numNTiles, parts)) + 0.75);
    if (cost < bestCost) {
      bestCost = cost;
      best = parts;
    }
  }
  return best;
}

/** True when the kernels in which warpgroups have tiles of their own can do the row: linear with a plain tail, for rows tiles
 *  with as many channels as the registers hold. */
bool fits_rows(const MatmulProblem& p, MatmulKernel kernel) {
  const Epilogue& e = p.epilogue;
  if (kernel == MatmulKernel::tiles) return true;
  const bool linear = p.out[1] * p.out[2] == 1 && p.source[3] == p.out[3] && p.kernel[0] * p.kernel[1] * p.kernel[2] == 1;
  const bool channels = kernel == MatmulKernel::halves || p.channels == kRowsChannels;
  return linear && channels && p.channels2 == 0 && p.phases == 1 && e.frameBias == nullptr && e.residual2 == nullptr;
}

cuda::Launch make_launch(const MatmulProblem& p, const MatmulTile& tile, const std::array<int, 3>& chosen, const cuda::DeviceInfo& device, double* cost) {
  const bool rows = tile.kernel == MatmulKernel::rows;
  const bool own = tile.kernel != MatmulKernel::tiles;  // each warpgroup has a tile of 64 rows
  // Sources are loaded in whole tiles, also where fewer rows are there: the kernels wait for all of a box's bytes.
  const std::array<int, 3> source = own ? std::array<int, 3>{1, 1, tile.tileM} : chosen;
  const std::array<int, 3> box = own ? std::array<int, 3>{1, 1, 64} : chosen;  // of the results
  MatmulSm90Params params{};
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  params.epilogue = p.epilogue;
  params.epilogue.biasType = static_cast<uint8_t>(DType::f32);
  params.blocksPerTap = static_cast<int32_t>(cuda::ceil_div(p.channels, 64));
  params.numKBlocks1 = params.blocksPerTap * taps;
  params.numKBlocks = params.numKBlocks1 + static_cast<int32_t>(cuda::ceil_div(p.channels2, 64));
  params.channels = static_cast<int32_t>(p.channels);
  int64_t mTiles = p.out[0];
  for (int i = 0; i < 3; ++i) {
    params.kernel[i] = p.kernel[i];
    params.stride[i] = p.stride[i];
    params.padding[i] = p.padding[i];
    params.tile[i] = box[i];
    params.out[i] = static_cast<int32_t>(p.out[1 + i]);
    params.tiles[i] = static_cast<int32_t>(cuda::ceil_div(p.out[1 + i], box[i]));
    mTiles *= params.tiles[i];
  }
  params.numMTiles = static_cast<int32_t>(mTiles);
  params.numNTiles = static_cast<int32_t>(cuda::ceil_div(p.columns, tile.tileN));
  params.numPhases = p.phases;
  params.framesFirst = p.kernel[0] > 1 && p.kernel[1] * p.kernel[2] == 1;
  const int64_t groups = cuda::ceil_div(mTiles, own ? 2 * tile.cluster : tile.cluster);
  params.numParts = rows ? column_parts(groups, params.numNTiles, device.numSms / tile.cluster) : 1;
  params.aBytes = box[0] * box[1] * box[2] * 128;
  cuda::Launch launch;
  launch.symbol = std::string(p.symbolPrefix) + tile.name + (p.geglu ? "_geglu" : "");
  launch.block = kMatmulThreads;
  launch.cluster = tile.cluster;
  launch.sharedBytes = matmul_shared_bytes(tile, params.numNTiles);
  const int64_t tiles = groups * (rows ? params.numParts : p.phases * params.numNTiles);
  const int64_t clusters = std::min<int64_t>(tiles, device.numSms / tile.cluster);
  launch.grid[0] = static_cast<uint32_t>(clusters * tile.cluster);
  launch.set_params(params);
  if (p.bias.present)
    launch.relocations.push_back({offsetof(MatmulSm90Params, epilogue) + offsetof(Epilogue, bias), p.bias.address});
  activation_map(launch, offsetof(MatmulSm90Params, a), p.x, p, p.channels, source);
  if (p.channels2 > 0) activation_map(launch, offsetof(MatmulSm90Params, a2), p.x2, p, p.channels2, source);
  weight_map(launch, p, tile, taps);
  if (tile.staged) {
    output_map(launch, offsetof(MatmulSm90Params, y), p.epilogue.y, p.epilogue.yPitch, p, box);
    if (p.epilogue.residual != nullptr)
      output_map(launch, offsetof(MatmulSm90Params, residual), p.epilogue.residual, p.epilogue.residualPitch, p, box);
    if (p.epilogue.residual2 != nullptr)
      output_map(launch, offsetof(MatmulSm90Params, residual2), p.epilogue.residual2, p.epilogue.residual2Pitch, p, box);
  }
  const double perItem = rows ? static_cast<double>(cuda::ceil_div(params.numNTiles, params.numParts)) : 1;
  *cost = static_cast<double>(cuda::ceil_div(tiles, clusters)) * perItem * tile_cycles(p, tile, params.numKBlocks);
  return launch;
}

}  // namespace

std::vector<cuda::Plan> plan_matmul_sm90(const MatmulProblem& problem, const cuda::Plan& base, const cuda::DeviceInfo& device) {
  std::vector<std::pair<double, cuda::Plan>> ranked;
  const std::array<int, 3> boxes[2] = {choose_box(problem, 128), choose_box(problem, 256)};
  for (const MatmulTile& tile : kMatmulTiles) {
    static_assert(kMatmulTiles[0].tileM == 128 && kMatmulTiles[1].tileM == 256, "tiles have 128 or 256 rows");
    const std::array<int, 3>& box = boxes[tile.tileM == 256];
    if (tile.staged && (!fits_staged(problem, box) || (!tile.pingpong && !problem.geglu))) continue;
    if (!fits_rows(problem, tile.kernel)) continue;
    if (tile.kernel != MatmulKernel::tiles && problem.geglu != (tile.tileN % 64 == 0)) continue;
    if (problem.geglu && tile.width % 64 != 0) continue;
    if (problem.epilogue.act != 0 && !tile.activation) continue;
    if (tile.generic ? problem.geglu : !problem.typed) continue;
    if (problem.geglu && (tile.generic || (tile.activation && tile.tileN == 128))) continue;
    if (static_cast<size_t>(matmul_shared_bytes(tile, static_cast<int>(cuda::ceil_div(problem.columns, tile.tileN))) + matmul_static_bytes(tile)) + 256 > device.sharedBytesPerBlock) continue;
    cuda::Plan plan = base;
    double cost = 0;
    plan.launches.push_back(make_launch(problem, tile, box, device, &cost));
    plan.variant = std::string("sm90_") + tile.name;
    ranked.emplace_back(cost, std::move(plan));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<cuda::Plan> plans;
  for (auto& entry : ranked) plans.push_back(std::move(entry.second));
  return plans;
}

}  // namespace vd::device
