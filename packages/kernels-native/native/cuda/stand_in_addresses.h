// Stand-in addresses: for constant operands, so that variants can be chosen before it is known which of them their kernels read as they are
// and which are only packed; for memory of the device, so that what was chosen for rows is right wherever their memory lies the next time.
// A stand-in is no canonical address: it can be told from every real one.
#pragma once
#include <optional>
#include <vector>

#include "../core/validate.h"
#include "residency.h"

namespace vd::cuda {

/** The constant operands of a program that lie in host memory, and the device's memory that its rows address, each behind a stand-in
 * address. */
class StandInAddresses {
 public:
  /** What an address in a launch refers to. */
  struct Reference {
    size_t index = 0;  // of the operand
    uint64_t offset = 0;  // bytes from its start
  };

  /** Gives every operand its stand-in. Throws Error(layout) for one in host memory that is not constant. */
  StandInAddresses(std::vector<Row>& rows, const std::vector<BufferBinding>& buffers);
  size_t size() const { return ranges_.size(); }
  const Range& range(size_t index) const { return ranges_[index]; }
  /** True for memory of the device, which is a range as a whole. */
  bool on_device(size_t index) const { return !ranges_[index].memory->on_host(); }
  /** What `word` stands for, if it is a stand-in. Throws Error(internal) for one outside of every range. */
  std::optional<Reference> find(uint64_t word) const;

 private:
  uint64_t add(const Range& range);
  std::vector<Range> ranges_;
  std::vector<uint64_t> starts_;  // ascending
  std::map<std::tuple<const vd::Memory*, size_t, size_t>, size_t> known_;
  uint64_t next_;
};

/** The binding whose memory holds `address`, or nullptr. */
const BufferBinding* binding_of(const std::vector<BufferBinding>& buffers, const void* address);

}  // namespace vd::cuda
