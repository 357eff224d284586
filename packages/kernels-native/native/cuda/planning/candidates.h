// The variants that a row can have, and why it cannot have others.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/program.h"
#include "launch.h"
#include "reason.h"

namespace vd::cuda {

/** The most working memory that a variant may take where others take less. */
inline constexpr size_t kMostWorkspaceBytes = size_t{256} << 20;

/** What planners are asked for. */
struct PlanningOptions {
  /** Keep the reasons against other variants, too. */
  bool explain = false;
  /** Only variants that add up each result in an order which follows from that result alone, however many there are: a clip has the same
   *  bits in any chunks. */
  bool batchInvariant = false;
};

/** What planners find for one row. */
class Candidates {
 public:
  explicit Candidates(const PlanningOptions& options) : options_(options) {}

  /** Those that are legal, the best guess first. */
  std::vector<Variant> variants;

  void add(Variant variant) { variants.push_back(std::move(variant)); }
  /** Notes why the row does not have a variant, or a family of them; nameParts: its name in pieces, which are joined only if
   *  somebody asked for reasons. Does nothing without a reason. */
  void reject(std::initializer_list<std::string_view> nameParts, const Reason& reason);
  /** Notes the reason, if there is one; returns true if there is none. */
  bool allows(std::initializer_list<std::string_view> nameParts, const Reason& reason);
  /** Why a variant cannot be had whose order of addition is its own, and which the number of results decides on. */
  Reason variance_reason() const;
  /** Against which variants there was a reason; empty unless asked for. */
  const std::vector<RejectedVariant>& rejected() const { return rejected_; }

  /** The names of the variants, the best guess first. */
  std::vector<std::string> names() const;
  /** Moves the variants that need more than kMostWorkspaceBytes to the rejected ones, unless no other would be left: then
   *  the guess stays. variants: not empty. */
  void limit_workspace();
  /** The variant of that name, or the guess. variants: not empty. */
  Variant& named(const std::string& wanted);
  /** The same; nothing is left of it here. */
  Variant extract(const std::string& wanted) { return std::move(named(wanted)); }
  /** Moves a variant to the rejected ones. name: of one that there is. */
  void refuse(const std::string& name, const std::string& reason);

 private:
  PlanningOptions options_;
  std::vector<RejectedVariant> rejected_;
};

/** Puts the launches of each variant of `more` behind those of the variant of its name, and drops variants that `more` lacks. */
void join_launches(Candidates& variants, const Candidates& more);

}  // namespace vd::cuda
