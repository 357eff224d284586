#include "launcher.h"

#include <cstring>

#include "../../device/tensor_map.h"

namespace vd::cuda {
namespace {

// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
constexpr int kMapFloat16 = 6, kMapFloat32 = 7, kMapBfloat16 = 9, kMapUint8 = 0, kMapInt32 = 3;
constexpr int kNoInterleave = 0, kL2Promotion256 = 3, kZeroFill = 0;

int map_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return kMapFloat16;
    case DType::bf16: return kMapBfloat16;
    case DType::f32: return kMapFloat32;
    case DType::i32: return kMapInt32;
    default: return kMapUint8;
  }
}

int map_swizzle(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

uint64_t address_of(const Address& address, const BaseAddresses& bases) {
  switch (address.base) {
    case AddressBase::workspace: return bases.workspace + address.value;
    case AddressBase::pack: return bases.packs.at(static_cast<size_t>(address.pack)) + address.value;
    default: return bases.resolve(address.value);
  }
}

std::string describe(const TensorMapRequest& map) {
  std::string text = "a tensor map of";
  for (int i = 0; i < map.rank; ++i) {
    for (const uint64_t number : {map.dims[i], uint64_t{map.box[i]}, i > 0 ? map.strideBytes[i - 1] : 0})
      text.append(" ").append(std::to_string(number));
    text.append(i + 1 < map.rank ? "," : "");
  }
  return text;
}

void write_map(Context& context, std::vector<std::byte>& params, const TensorMapRequest& m, const BaseAddresses& bases,
               const std::string& where) {
  device::TensorMap map;
  const auto base = reinterpret_cast<void*>(address_of(m.base, bases));
  const driver::Result result =
      context.api().tensor_map_encode(&map, map_type(m.dtype), static_cast<uint32_t>(m.rank), base, m.dims, m.strideBytes, m.box,
                                      m.elementStrides, kNoInterleave, map_swizzle(m.swizzleBytes), kL2Promotion256, kZeroFill);
  if (result != driver::kSuccess) context.check(result, where + "] [" + describe(m));
  std::memcpy(params.data() + m.paramOffset, &map, sizeof map);
}

}  // namespace

void for_each_word(const Launch& launch, const std::function<void(uint64_t)>& visit) {
  for (size_t at = 0; at + sizeof(uint64_t) <= launch.params.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, launch.params.data() + at, sizeof word);
    visit(word);
  }
  for (const Relocation& relocation : launch.relocations)
    if (relocation.address.base == AddressBase::absolute) visit(relocation.address.value);
  for (const TensorMapRequest& map : launch.maps)
    if (map.base.base == AddressBase::absolute) visit(map.base.value);
}

ReadyLaunch make_ready(Context& context, const Launch& launch, const BaseAddresses& bases, const std::string& where) {
  ReadyLaunch ready;
  if (launch.expression) ready.compiled = context.compile(launch, where);
  ready.function = ready.compiled ? ready.compiled->function : context.find(launch.symbol, launch.sharedBytes, where);
  ready.params = launch.params;
  for (size_t at = 0; at + sizeof(uint64_t) <= ready.params.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, ready.params.data() + at, sizeof word);
    word = bases.resolve(word);
    std::memcpy(ready.params.data() + at, &word, sizeof word);
  }
  for (const Relocation& relocation : launch.relocations) {
    const uint64_t address = address_of(relocation.address, bases);
    std::memcpy(ready.params.data() + relocation.paramOffset, &address, sizeof address);
  }
  for (const TensorMapRequest& map : launch.maps) write_map(context, ready.params, map, bases, where);
  for (int i = 0; i < 3; ++i) ready.grid[i] = launch.grid[i];
  ready.block = launch.block;
  ready.cluster = launch.cluster;
  ready.allResident = launch.allResident;
  ready.overlapped = launch.overlapped;
  ready.sharedBytes = launch.sharedBytes;
  return ready;
}

void launch_on(const Stream& stream, ReadyLaunch& launch, const std::string& where) {
  driver::LaunchAttribute attributes[3] = {};
  unsigned numAttributes = 0;
  if (launch.cluster > 1) {
    driver::LaunchAttribute& cluster = attributes[numAttributes++];
    cluster.id = driver::kClusterDimension;
    cluster.value.cluster[0] = launch.cluster;
    cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
  }
  if (launch.allResident) {
    driver::LaunchAttribute& cooperative = attributes[numAttributes++];
    cooperative.id = driver::kCooperative;
    cooperative.value.cooperative = 1;
  }
  if (launch.overlapped) {
    driver::LaunchAttribute& overlapped = attributes[numAttributes++];
    overlapped.id = driver::kProgrammaticSerialization;
    overlapped.value.programmaticSerialization = 1;
  }
  const driver::LaunchConfig config = {{launch.grid[0], launch.grid[1], launch.grid[2]},
                                       {launch.block, 1, 1},
                                       launch.sharedBytes,
                                       stream.handle(),
                                       attributes,
                                       numAttributes};
  void* params[] = {launch.params.data()};
  const driver::Result result = stream.context().api().launch_kernel(&config, launch.function, params, nullptr);
  if (result != driver::kSuccess) stream.context().check(result, where);
}

}  // namespace vd::cuda
