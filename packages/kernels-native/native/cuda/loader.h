// Brings the constant operands of a program to the device and makes its launches ready.
#pragma once
#include <memory>
#include <vector>

#include "launcher.h"
#include "stand_in_addresses.h"
#include "weight_stream.h"

namespace vd::cuda {

class KnownChoices;

/** A row and the variant that is to compute it. */
struct ChosenRow {
  std::string name;
  Variant variant;
};

/** One row, ready to run. */
struct ReadyRow {
  std::string name;
  std::string variant;
  std::vector<ReadyLaunch> launches;
};

/** A program's rows on the device, and what keeps their memory alive. */
struct LoadedRows {
  std::vector<ReadyRow> rows;
  std::vector<std::shared_ptr<DeviceBlock>> blocks;
  /** Of memory of its own. */
  size_t workspaceBytes = 0;
  /** Where weights do not stay on the device. */
  std::unique_ptr<WeightStream> weights;
};

/** What loading works with. */
struct LoadContext {
  std::shared_ptr<Context> context;
  std::shared_ptr<Transfer> transfer;
  std::shared_ptr<Residency> residency;
  std::shared_ptr<PinnedWeights> pinned;
  std::shared_ptr<KnownChoices> choices;
};

/** Uploads the constants that launches read as they are, runs the packs of the others, resolves all launches. options: where weights go.
 *  Throws Error. */
LoadedRows load_rows(const LoadContext& device, const std::vector<ChosenRow>& rows, const StandInAddresses& standIns,
                     const CompileOptions& options);

}  // namespace vd::cuda
