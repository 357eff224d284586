// Which variant computes each row of a program.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "context.h"
#include "loader.h"

namespace vd::cuda {

/** The variants of a program's rows, whose addresses are stand-ins. */
struct Choices {
  std::vector<ChosenRow> rows;
  /** What each row could have, could not, and what the driver refused; the rest is empty. */
  ProgramInfo info;
};

/** Keeps what was chosen for the programs of a device, so that a program that is compiled once more is not planned again. */
class KnownChoices {
 public:
  /** What was chosen for `key`; nothing for an empty key and for what was let go of. */
  std::shared_ptr<const Choices> find(const std::string& key);
  /** Keeps it, and lets go of what was used longest ago. */
  void keep(const std::string& key, std::shared_ptr<const Choices> choices);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Choices> choices;
    size_t launches = 0;
  };
  std::mutex mutex_;
  /** The one that was used last comes first. */
  std::list<Entry> entries_;
};

/** The rows with the variants that `options` asks for. Plans rows on several threads. Throws the Error of the first row that has one. */
std::shared_ptr<const Choices> choose_variants(Context& context, const std::vector<Row>& rows, const CompileOptions& options);

/** A text that is the same for rows and options for which the same is chosen; empty where the rows have no key. */
std::string choice_key(const CompileOptions& options);

}  // namespace vd::cuda
