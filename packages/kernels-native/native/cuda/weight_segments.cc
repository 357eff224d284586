#include "weight_segments.h"

#include <algorithm>

#include "launcher.h"

namespace vd::cuda {
namespace {

/** Copies of less than this take longer to start than to make. */
constexpr size_t kLeastBytes = size_t{64} << 10;
/** The more slots, the further ahead of its use a weight may come; the fewer, the larger a row's weights may be. */
constexpr size_t kMostSlots = 8;

size_t aligned(size_t bytes) { return static_cast<size_t>(round_up(bytes, 256)); }

/** Adds what a row needs; false, with nothing added, where that would be more than `most` bytes. */
bool add_row(WeightSegment& segment, const std::vector<WeightUse>& row, size_t most) {
  const size_t before = segment.bytes;
  std::vector<WeightKey> added;
  for (const WeightUse& use : row) {
    const WeightKey key{use.operand, use.form};
    if (!segment.offsets.try_emplace(key, segment.bytes).second) continue;
    segment.bytes += aligned(use.form.bytes);
    added.push_back(key);
  }
  if (segment.bytes > most) {
    for (const WeightKey& key : added) segment.offsets.erase(key);
    segment.bytes = before;
    return false;
  }
  ++segment.endRow;
  return true;
}

}  // namespace

std::set<size_t> direct_operands(const Variant& variant, const StandInAddresses& standIns) {
  std::set<size_t> direct;
  const auto visit = [&](uint64_t word) {
    const auto reference = standIns.find(word);
    if (reference && !standIns.on_device(reference->index)) direct.insert(reference->index);
  };
  for (const Launch& launch : variant.launches) for_each_word(launch, visit);
  for (const Pack& pack : variant.packs)
    if (!pack.constant)
      for (const Launch& launch : pack.launches) for_each_word(launch, visit);
  return direct;
}

std::vector<WeightUse> large_weights(const Variant& variant, const StandInAddresses& standIns) {
  std::vector<WeightUse> uses;
  const auto add = [&](const WeightUse& use) {
    if (use.form.bytes >= kLeastBytes) uses.push_back(use);
  };
  for (const size_t i : direct_operands(variant, standIns)) add({i, {-1, 0, standIns.range(i).bytes}});
  for (size_t i = 0; i < variant.packs.size(); ++i) {
    const Pack& pack = variant.packs[i];
    const auto reference = standIns.find(reinterpret_cast<uint64_t>(pack.source));
    if (pack.constant && reference && !standIns.on_device(reference->index))
      add({reference->index, {pack.kind, pack.targetType, pack.bytes, reference->offset}, static_cast<int>(i)});
  }
  return uses;
}

std::optional<WeightSegments> cut_into_segments(const std::vector<std::vector<WeightUse>>& rows, size_t streamBytes) {
  constexpr size_t kAny = static_cast<size_t>(-1);
  WeightSegment all;
  size_t largest = 0;
  for (const std::vector<WeightUse>& row : rows) {
    add_row(all, row, kAny);
    WeightSegment one;
    add_row(one, row, kAny);
    largest = std::max(largest, one.bytes);
  }
  if (all.bytes <= streamBytes) return std::nullopt;
  WeightSegments result;
  result.slotBytes = std::max(largest, streamBytes / kMostSlots / 256 * 256);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!result.segments.empty() && add_row(result.segments.back(), rows[i], result.slotBytes)) continue;
    result.segments.push_back({i, i, 0, {}});
    add_row(result.segments.back(), rows[i], result.slotBytes);
  }
  result.numSlots = std::max<size_t>(streamBytes / result.slotBytes, 2);
  return result;
}

}  // namespace vd::cuda
