// Cuts a program whose weights do not stay on the device into segments: rows one after the other whose weights fit into a slot.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "planning/launch.h"
#include "stand_in_addresses.h"

namespace vd::cuda {

/** A weight as the launches of a row read it: an operand as it is, or one of the row's packs. */
struct WeightUse {
  size_t operand = 0;  // of the stand-in addresses
  Form form;
  int pack = -1;       // index into Variant::packs, -1 where launches read the operand itself
};

/** What tells weights apart: an operand and its form. */
using WeightKey = std::pair<size_t, Form>;

/** Rows from `firstRow` to before `endRow`, and where their weights lie in a slot. */
struct WeightSegment {
  size_t firstRow = 0, endRow = 0;
  size_t bytes = 0;
  std::map<WeightKey, size_t> offsets;
};

/** All segments of a program. */
struct WeightSegments {
  size_t slotBytes = 0, numSlots = 0;
  std::vector<WeightSegment> segments;
  size_t slot_of(size_t segment) const { return segment % numSlots; }
};

/** The operands that launches other than constant packs read as they are, by operand. */
std::set<size_t> direct_operands(const Variant& variant, const StandInAddresses& standIns);

/** The weights of a row that are large enough to be copied by themselves; the others stay on the device. */
std::vector<WeightUse> large_weights(const Variant& variant, const StandInAddresses& standIns);

/** Cuts rows into segments for `streamBytes` of slots; nothing where all weights fit in there together. A row that needs more than its
 *  share makes slots larger, of which there are two at least. */
std::optional<WeightSegments> cut_into_segments(const std::vector<std::vector<WeightUse>>& rows, size_t streamBytes);

}  // namespace vd::cuda
