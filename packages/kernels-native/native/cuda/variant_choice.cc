#include "variant_choice.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "../core/error.h"
#include "../core/processors.h"
#include "../core/share_out.h"
#include "planning/planners.h"

namespace vd::cuda {
namespace {

/** A thread takes some 0.1 ms to start, a row about 0.03 ms to plan: so many rows are worth one. */
constexpr int64_t kRowsPerThread = 32;
/** Some 2 KB each: the largest models' programs have about a thousand. */
constexpr size_t kMostLaunches = 16384;
/** Others of the process have work meanwhile. */
constexpr int64_t kMostThreads = 8;

int planning_threads(size_t rows) {
  const int64_t wanted = std::min(static_cast<int64_t>(rows) / kRowsPerThread, kMostThreads);
  return static_cast<int>(std::clamp<int64_t>(usable_processors(), 1, std::max<int64_t>(wanted, 1)));
}

/** What is left of a row's candidates, which take many times the memory of the one that is chosen. */
struct Choice {
  std::string wanted;
  std::vector<std::string> names;
  std::vector<RejectedVariant> rejected;
  Variant variant;
  /** All of them, where the driver has a say in which it will be: such rows have few. */
  std::optional<Candidates> open;
  std::exception_ptr error;

  void close(Candidates& candidates) {
    names = candidates.names();
    rejected = candidates.rejected();
    variant = candidates.extract(wanted);
  }
};

/** True for a variant with a kernel that the driver has to compile. */
bool needs_driver(const Variant& variant) {
  return std::any_of(variant.launches.begin(), variant.launches.end(), [](const Launch& launch) { return launch.expression.has_value(); });
}

/** What the driver says against kernels of a variant that it has to compile; nothing where it compiles them. Throws the Error of a device
 *  that is lost. */
std::optional<std::string> refusal_of(Context& context, const Variant& variant, const std::string& row) {
  try {
    for (const Launch& launch : variant.launches)
      if (launch.expression) context.compile(launch, row);
    return std::nullopt;
  } catch (const Error& error) {
    if (context.lost()) throw;
    return error.got;
  }
}

/** Takes out variants until the one that will run is one that the driver compiles; notes in `info` which it refuses. */
void drop_refused(Context& context, const std::string& row, const std::string& wanted, Candidates& candidates, ProgramInfo& info) {
  while (candidates.variants.size() > 1) {
    const Variant& variant = candidates.named(wanted);
    const std::optional<std::string> refusal = refusal_of(context, variant, row);
    if (!refusal) return;
    info.refused.push_back({variant.name, *refusal});
    candidates.refuse(std::string(variant.name), "is not compiled by the driver: " + *refusal);
  }
}

const std::string& text_of(const std::vector<std::string>& texts, size_t i) {
  static const std::string none;
  return i < texts.size() ? texts[i] : none;
}

/** The variant that a row is to have; an empty text where its own choice stands. */
std::string wanted_of(const Candidates& candidates, const CompileOptions& options, size_t row) {
  const std::string& replaced = text_of(options.insteadOf, row);
  return replaced.empty() || replaced == candidates.variants.front().name ? text_of(options.variants, row) : std::string();
}

/** What rows have without the driver, by several threads. */
std::vector<Choice> plan_rows(const DeviceInfo& device, const std::vector<Row>& rows, const CompileOptions& options) {
  std::vector<Choice> choices(rows.size());
  share_out(static_cast<int64_t>(rows.size()), planning_threads(rows.size()), [&](int64_t index) {
    const auto i = static_cast<size_t>(index);
    Choice& choice = choices[i];
    try {
      Candidates candidates = variants_of(rows[i], device, {options.explain, options.batchInvariant});
      choice.wanted = wanted_of(candidates, options, i);
      if (needs_driver(candidates.named(choice.wanted))) choice.open = std::move(candidates);
      else choice.close(candidates);
    } catch (...) {
      choice.error = std::current_exception();
    }
  });
  return choices;
}

}  // namespace

std::shared_ptr<const Choices> choose_variants(Context& context, const std::vector<Row>& rows, const CompileOptions& options) {
  std::vector<Choice> choices = plan_rows(context.info(), rows, options);
  auto chosen = std::make_shared<Choices>();
  chosen->rows.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    Choice& choice = choices[i];
    if (choice.error) std::rethrow_exception(choice.error);
    if (choice.open) {
      drop_refused(context, rows[i].name, choice.wanted, *choice.open, chosen->info);
      choice.close(*choice.open);
      choice.open.reset();
    }
    chosen->info.candidates.push_back(std::move(choice.names));
    if (options.explain) chosen->info.rejected.push_back(std::move(choice.rejected));
    chosen->rows.push_back({rows[i].name, std::move(choice.variant)});
  }
  return chosen;
}

std::string choice_key(const CompileOptions& options) {
  if (options.rowsKey.empty()) return {};
  std::string key = options.rowsKey;
  key.append(options.explain ? "e" : "-").append(options.batchInvariant ? "b" : "-");
  for (const auto* texts : {&options.variants, &options.insteadOf}) {
    key.push_back('|');
    for (const std::string& text : *texts) key.append(text).push_back('\0');
  }
  return key;
}

std::shared_ptr<const Choices> KnownChoices::find(const std::string& key) {
  if (key.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().choices;
}

void KnownChoices::keep(const std::string& key, std::shared_ptr<const Choices> choices) {
  if (key.empty()) return;
  size_t launches = 0;
  for (const ChosenRow& row : choices->rows) launches += row.variant.launches.size();
  const std::lock_guard lock(mutex_);
  entries_.push_front({key, std::move(choices), launches});
  size_t total = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    total += entry->launches;
    entry = total > kMostLaunches ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace vd::cuda
