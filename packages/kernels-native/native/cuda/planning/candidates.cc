#include "candidates.h"

#include <algorithm>
#include <utility>

namespace vd::cuda {

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

Variant Candidates::extract(const std::string& wanted) {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const Variant& variant) { return variant.name == wanted; });
  return std::move(found == variants.end() ? variants.front() : *found);
}

}  // namespace vd::cuda
