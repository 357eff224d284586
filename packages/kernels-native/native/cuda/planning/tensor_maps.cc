#include "tensor_maps.h"

#include <algorithm>

namespace vd::cuda {

Reason copy_engine_access_reason(const Tensor& tensor, const char* operand) {
  return access_reason(tensor, operand, 16 / bytes_of(tensor.dtype), false);
}

Reason copy_engine_reason(const Tensor& tensor, const char* operand) {
  return first_of(
      {if_so(!is_16_bit(tensor.dtype), {"is not of a 16-bit float type", {}, operand}), copy_engine_access_reason(tensor, operand)});
}

Reason product_source_reason(const Tensor& tensor, DType weights, const char* operand) {
  const bool floats = tensor.dtype == DType::f32 && is_16_bit(weights);
  return first_of({if_so(!floats && !is_16_bit(tensor.dtype),
                         {"is neither of a 16-bit float type nor of float32 beside weights of 16 bits", {}, operand}),
                   copy_engine_access_reason(tensor, operand)});
}

Box choose_box(const MatmulProblem& p, int limit) {
  Box best = {1, 1, 1};
  int64_t bestCount = INT64_MAX;
  const auto cap = [&](int axis, int64_t extent) { return std::min<int64_t>(extent, 1 + 255 / p.stride[axis]); };
  for (int w = static_cast<int>(std::min<int64_t>(cap(2, p.out[3]), limit)); w >= 1; --w) {
    for (int h = static_cast<int>(std::min<int64_t>(cap(1, p.out[2]), limit / w)); h >= 1; --h) {
      // The frames of a box lie in one tensor: those of a clip may lie in two, and repeat.
      const int f = p.clip ? 1 : static_cast<int>(std::min<int64_t>(cap(0, p.out[1]), limit / (w * h)));
      // Fewest frames that need the same number of boxes, so that boxes are filled evenly.
      const int64_t boxesF = ceil_div(p.out[1], f);
      const int64_t count = boxesF * ceil_div(p.out[2], h) * ceil_div(p.out[3], w);
      if (count < bestCount) {
        bestCount = count;
        best = {f, h, w};
      }
    }
  }
  return best;
}

void activation_map(Launch& launch, uint32_t offset, const Tensor& x, const MatmulProblem& p, int64_t channels, const Box& box) {
  TensorMapRequest map;
  map.paramOffset = offset;
  map.base = Address::of(x.data);
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
  if (p.groups > 1) {
    map.dims[4] = static_cast<uint64_t>(p.groups);
    map.strideBytes[3] = static_cast<uint64_t>(channels) * bytes_of(x.dtype);
  }
  map.box[0] = static_cast<uint32_t>(block_channels(p));
  for (int i = 0; i < 3; ++i) {
    map.box[1 + i] = static_cast<uint32_t>((box[2 - i] - 1) * p.stride[2 - i] + 1);
    map.elementStrides[1 + i] = static_cast<uint32_t>(p.stride[2 - i]);
  }
  launch.maps.push_back(map);
}

void weight_map(Launch& launch, const MatmulProblem& p, const device::MatmulTile& tile, int taps) {
  TensorMapRequest map;
  map.paramOffset = offsetof(device::MatmulSm90Params, b);
  map.base = p.weights;
  map.dtype = operand_type(p);
  map.rank = 4;
  const uint64_t row = p.weightChannels * bytes_of(map.dtype);
  const uint64_t total = p.channels2 > 0 ? p.channels + p.channels2 : p.channels;
  map.dims[0] = total;
  map.box[0] = static_cast<uint32_t>(128 / bytes_of(map.dtype));
  if (p.gated) {
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
    const uint64_t dims[3] = {uint64_t(taps), n, uint64_t(p.sharedFilters ? 1 : p.phases)}, strides[3] = {row, taps * row, n * taps * row};
    for (int i = 0; i < 3; ++i) {
      map.dims[1 + i] = dims[i];
      map.strideBytes[i] = strides[i];
    }
    map.box[2] = static_cast<uint32_t>(tile.tileN / 2);
  }
  launch.maps.push_back(map);
}

void output_map(Launch& launch, uint32_t offset, const void* base, int64_t pitch, const MatmulProblem& p, const Box& box) {
  TensorMapRequest map;
  map.paramOffset = offset;
  map.base = Address::of(base);
  map.dtype = static_cast<DType>(p.epilogue.yType);
  map.rank = 5;
  map.swizzleBytes = 64;
  map.dims[0] = static_cast<uint64_t>(p.epilogue.n);
  map.box[0] = 64 / bytes_of(map.dtype);
  const bool phases = p.phases == 4;
  uint64_t stride = static_cast<uint64_t>(pitch) * bytes_of(map.dtype) * (phases ? 2 : 1);
  for (int i = 0; i < 4; ++i) {
    map.dims[1 + i] = static_cast<uint64_t>(p.out[3 - i]);
    // Pairs of pixels have channels side by side, pairs of rows lie side by side.
    if (phases && i == 0) {
      map.dims[0] += static_cast<uint64_t>(pitch);
      map.dims[1] *= 2;
    }
    map.strideBytes[i] = stride;
    stride *= map.dims[1 + i];
  }
  for (int i = 0; i < 3; ++i) map.box[1 + i] = static_cast<uint32_t>(box[2 - i]);
  launch.maps.push_back(map);
}

}  // namespace vd::cuda
