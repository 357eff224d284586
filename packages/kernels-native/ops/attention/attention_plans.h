// The parts of attention's planner.
#pragma once
#include <vector>

#include "../../native/cuda/planning/candidates.h"
#include "../../native/generated/op_args.h"
#include "attention_params.h"

namespace vd {

bool has_attention_window(const AttentionArgs& args);

/** A map over [sequences, rows, heads, channels] whose box is 64 channels of `boxRows` rows of a head: behind a head's channels are zeros.
 */
cuda::TensorMapRequest attention_head_map(uint32_t offset, const Tensor& t, int64_t heads, uint32_t boxRows);

/** What the kernels for plain requests do not do, if the row asks for it. */
cuda::Reason attention_request_reason(const AttentionArgs& args);

/** Adds the Hopper kernels for rows that see part of the keys. */
void add_range_attention(const AttentionArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Adds the Hopper kernel in blocks of one warpgroup, where it goes ahead of the others or, with ahead false, where it does not. */
void add_block_attention(const AttentionArgs& args, const cuda::DeviceInfo& device, bool ahead, cuda::Candidates& out);

/** Whether blocks that divide the keys go ahead of the other Hopper kernels. */
bool split_attention_wins(const AttentionArgs& args, const cuda::DeviceInfo& device);

/** Adds the Hopper kernels whose blocks divide the keys. */
void add_split_attention(const AttentionArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Adds the kernels of every architecture that can do the row. */
void add_portable_attention(const AttentionArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** The launch before attention that normalises and rotates heads; nothing for rows that ask for neither. */
class HeadsStage {
 public:
  explicit HeadsStage(const AttentionArgs& args);

  /** The row as the launches after this one see it: q or k, where they are changed, packed in the workspace. Their addresses
   *  are stand-ins that `add_to` replaces. */
  AttentionArgs staged() const;
  /** Puts the launch before those of a variant of the staged row. */
  void add_to(cuda::Variant& variant) const;

 private:
  /** q or k, and where it goes. */
  struct Side {
    Tensor x, norm, rotary;
    uint64_t offset = 0;  // in the workspace
    bool isQueries = false;
  };

  AttentionArgs args_;
  std::vector<Side> sides_;
  uint64_t bytes_ = 0;
};

}  // namespace vd
