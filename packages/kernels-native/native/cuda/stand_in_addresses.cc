#include "stand_in_addresses.h"

#include <algorithm>

#include "../core/error.h"
#include "../core/op_table.h"

namespace vd::cuda {
namespace {

/** Neither end of the address space: GPUs and CPUs use the lowest or highest 2^57 bytes. The low bits of the tag make it
 *  improbable as a pair of 32-bit parameters; 2^40 bytes follow. */
constexpr uint64_t kFirst = 0x5DB1'A300'0000'0000;
constexpr uint64_t kEnd = kFirst + (uint64_t{1} << 40);
/** As device memory is aligned, so that a variant made for a stand-in suits the real address. */
constexpr uint64_t kAlignment = 256;

size_t span_bytes(const Tensor& t) {
  return static_cast<size_t>((t.pixels() - 1) * t.pitch + t.channels()) * static_cast<size_t>(bytes_of(t.dtype));
}

}  // namespace

const BufferBinding* binding_of(const std::vector<BufferBinding>& buffers, const void* address) {
  for (const BufferBinding& binding : buffers) {
    const auto* start = static_cast<const void*>(binding.memory->data());
    if (address >= start && address < static_cast<const void*>(binding.memory->data() + binding.memory->bytes())) return &binding;
  }
  return nullptr;
}

StandInAddresses::StandInAddresses(std::vector<Row>& rows, const std::vector<BufferBinding>& buffers) : next_(kFirst) {
  for (Row& row : rows) {
    for (size_t i = 0; i < row.tensors.size(); ++i) {
      Tensor& tensor = row.tensors[i];
      if (!tensor.present()) continue;
      const BufferBinding* binding = binding_of(buffers, tensor.data);
      if (binding == nullptr) continue;
      const auto offset = static_cast<size_t>(static_cast<std::byte*>(tensor.data) - binding->memory->data());
      if (!binding->memory->on_host()) {
        tensor.data = reinterpret_cast<void*>(add({binding->memory, 0, binding->memory->bytes()}) + offset);
        continue;
      }
      if (!tensor.constant)
        throw Error(ErrorCode::layout, row.name + "] [" + kOps[row.op]->tensors[i].name, "memory of the device",
                    "host memory that is not constant", "Allocate it with device.allocate().");
      tensor.data = reinterpret_cast<void*>(add({binding->memory, offset, span_bytes(tensor)}));
    }
  }
}

uint64_t StandInAddresses::add(const Range& range) {
  const auto [entry, is_new] = known_.try_emplace({range.memory.get(), range.offset, range.bytes}, ranges_.size());
  if (!is_new) return starts_[entry->second];
  const uint64_t start = next_;
  next_ += (range.bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  if (next_ > kEnd) throw Error(ErrorCode::unsupported, "compile", "at most 1 TiB of memory", "more");
  ranges_.push_back(range);
  starts_.push_back(start);
  return start;
}

std::optional<StandInAddresses::Reference> StandInAddresses::find(uint64_t word) const {
  if (word < kFirst || word >= next_) return std::nullopt;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), word);
  const auto index = static_cast<size_t>(after - starts_.begin()) - 1;
  const uint64_t offset = word - starts_[index];
  if (offset > ranges_[index].bytes) throw Error(ErrorCode::internal, "compile", "an address inside of its memory", "one outside");
  return Reference{index, offset};
}

}  // namespace vd::cuda
