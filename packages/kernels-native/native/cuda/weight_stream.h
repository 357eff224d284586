// Weights that pass through a few slots of device memory: a stream of its own copies them from page-locked host memory while the rows
// before the ones that use them run.
#pragma once
#include <memory>
#include <vector>

#include "residency.h"
#include "stream.h"

namespace vd::cuda {

/** A weight in host memory and its place in a slot. */
struct StreamedWeight {
  std::shared_ptr<PinnedBlock> host;
  size_t offset = 0;
};

/** Rows from `firstRow` to before `endRow`, and the weights that they read. */
struct StreamedSegment {
  size_t firstRow = 0, endRow = 0;
  std::vector<StreamedWeight> weights;
};

/** Brings the weights of a program's rows, a run at a time. What it queues may be captured as part of a graph. */
class WeightStream {
 public:
  /** Allocates the slots. Throws Error(memory). */
  WeightStream(const std::shared_ptr<Context>& context, size_t numSlots, size_t slotBytes);
  /** Waits for copies under way. */
  ~WeightStream();
  WeightStream(const WeightStream&) = delete;
  WeightStream& operator=(const WeightStream&) = delete;
  /** Where the weights of segment number `segment` lie while its rows run. */
  driver::DevicePtr slot_of(size_t segment) const;
  /** Adds the next segment. */
  void add(StreamedSegment segment) { segments_.push_back(std::move(segment)); }
  /** Bytes of all slots. */
  size_t slot_bytes() const { return slots_.bytes(); }
  /** Bytes that every run copies. */
  size_t bytes_per_run() const;

  /** Begins to copy for a run whose rows are queued on `rows` from now on, once what is queued there has ended. */
  void begin(const Stream& rows);
  /** Lets row `row` wait for its weights; to be called before its launches are queued. */
  void before(size_t row, const Stream& rows);
  /** Gives the slot of a segment that ends with `row` to a later one; to be called behind its launches. */
  void after(size_t row, const Stream& rows);
  /** Waits for the copies under way. Throws Error(driver). */
  void finish();

 private:
  struct Slot {
    /** Its weights have come; its last row is done. */
    std::unique_ptr<Event> filled, used;
  };
  Slot& events_of(size_t segment) { return events_[segment % events_.size()]; }
  void copy(size_t segment);
  std::shared_ptr<Context> context_;
  DeviceBlock slots_;
  Stream copies_;
  Event begun_;
  std::vector<Slot> events_;
  std::vector<StreamedSegment> segments_;
  /** The segment of the row that is queued next. */
  size_t current_ = 0;
};

}  // namespace vd::cuda
