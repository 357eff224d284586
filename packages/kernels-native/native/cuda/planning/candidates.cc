#include "candidates.h"

#include <algorithm>
#include <utility>

namespace vd::cuda {

namespace {

Address moved(Address address, const std::vector<int>& packs) {
  if (address.base == AddressBase::pack) address.pack = packs[static_cast<size_t>(address.pack)];
  return address;
}

Launch moved(Launch launch, const std::vector<int>& packs) {
  for (Relocation& relocation : launch.relocations) relocation.address = moved(relocation.address, packs);
  for (TensorMapRequest& map : launch.maps) map.base = moved(map.base, packs);
  return launch;
}

/** Notes where in `to` the next pack of `from` is, added if it is not there yet. */
void find_or_add(Variant& to, const Pack& pack, std::vector<int>& positions) {
  const auto same = [&](const Pack& other) {
    return other.source == pack.source && other.kind == pack.kind && other.targetType == pack.targetType && other.bytes == pack.bytes;
  };
  const auto found = std::find_if(to.packs.begin(), to.packs.end(), same);
  positions.push_back(static_cast<int>(found - to.packs.begin()));
  if (found != to.packs.end()) return;
  // Its launches write to itself alone.
  Pack added = pack;
  for (Launch& launch : added.launches) launch = moved(std::move(launch), positions);
  to.packs.push_back(std::move(added));
}

void append(Variant& to, const Variant& from) {
  std::vector<int> positions;
  for (const Pack& pack : from.packs) find_or_add(to, pack, positions);
  for (const Launch& launch : from.launches) to.launches.push_back(moved(launch, positions));
  to.workspaceBytes = std::max(to.workspaceBytes, from.workspaceBytes);
}

}  // namespace

void Candidates::reject(std::initializer_list<std::string_view> nameParts, const Reason& reason) {
  if (!options_.explain || !reason) return;
  std::string name;
  for (const std::string_view part : nameParts) name += part;
  rejected_.push_back({std::move(name), reason.text()});
}

bool Candidates::allows(std::initializer_list<std::string_view> nameParts, const Reason& reason) {
  reject(nameParts, reason);
  return !reason;
}

Reason Candidates::variance_reason() const {
  return if_so(options_.batchInvariant,
               {"is chosen by the number of results and adds up in an order of its own, the plan is batch-invariant"});
}

std::vector<std::string> Candidates::names() const {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  return names;
}

void Candidates::limit_workspace() {
  constexpr int kMiB = 20;
  const auto is_small = [](const Variant& variant) { return variant.workspaceBytes <= kMostWorkspaceBytes; };
  const bool any = std::any_of(variants.begin(), variants.end(), is_small);
  std::vector<Variant> kept;
  for (size_t i = 0; i < variants.size(); ++i) {
    Variant& variant = variants[i];
    const auto needed = static_cast<int64_t>((variant.workspaceBytes + (size_t{1} << kMiB) - 1) >> kMiB);
    if (any ? is_small(variant) : i == 0) kept.push_back(std::move(variant));
    else reject({variant.name}, {"needs # MiB of working memory, the limit is # MiB", {needed, int64_t{kMostWorkspaceBytes >> kMiB}}});
  }
  variants = std::move(kept);
}

Variant& Candidates::named(const std::string& wanted) {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const Variant& variant) { return variant.name == wanted; });
  return found == variants.end() ? variants.front() : *found;
}

void Candidates::refuse(const std::string& name, const std::string& reason) {
  if (options_.explain) rejected_.push_back({name, reason});
  std::erase_if(variants, [&](const Variant& variant) { return variant.name == name; });
}

void join_launches(Candidates& variants, const Candidates& more) {
  std::vector<Variant> joined;
  for (Variant& variant : variants.variants) {
    const auto named = [&](const Variant& other) { return other.name == variant.name; };
    const auto found = std::find_if(more.variants.begin(), more.variants.end(), named);
    if (found == more.variants.end()) continue;
    append(variant, *found);
    joined.push_back(std::move(variant));
  }
  variants.variants = std::move(joined);
}

}  // namespace vd::cuda
