#include "weight_stream.h"

#include <algorithm>

namespace vd::cuda {

WeightStream::WeightStream(const std::shared_ptr<Context>& context, size_t numSlots, size_t slotBytes)
    : context_(context), slots_(context, numSlots * slotBytes, "streamed weights"), copies_(context), begun_(context, false) {
  for (size_t i = 0; i < numSlots; ++i)
    events_.push_back({std::make_unique<Event>(context, false), std::make_unique<Event>(context, false)});
}

WeightStream::~WeightStream() {
  try {
    if (!context_->lost()) finish();
  } catch (const Error&) {
    // A device that was lost has no copies under way.
  }
}

driver::DevicePtr WeightStream::slot_of(size_t segment) const {
  return slots_.address() + segment % events_.size() * (slots_.bytes() / events_.size());
}

size_t WeightStream::bytes_per_run() const {
  size_t total = 0;
  for (const StreamedSegment& segment : segments_)
    for (const StreamedWeight& weight : segment.weights) total += weight.host->bytes();
  return total;
}

void WeightStream::copy(size_t segment) {
  const driver::DevicePtr slot = slot_of(segment);
  for (const StreamedWeight& weight : segments_[segment].weights)
    context_->check(context_->api().copy_to_device(slot + weight.offset, weight.host->data(), weight.host->bytes(), copies_.handle()),
                    "streamed weights");
  events_of(segment).filled->record(copies_);
}

void WeightStream::begin(const Stream& rows) {
  current_ = 0;
  begun_.record(rows);
  copies_.wait_for(begun_);
  for (size_t i = 0; i < std::min(events_.size(), segments_.size()); ++i) copy(i);
}

void WeightStream::before(size_t row, const Stream& rows) {
  if (current_ < segments_.size() && row == segments_[current_].firstRow) rows.wait_for(*events_of(current_).filled);
}

void WeightStream::after(size_t row, const Stream& rows) {
  if (current_ >= segments_.size() || row + 1 != segments_[current_].endRow) return;
  const size_t next = current_ + events_.size();
  if (next < segments_.size()) {
    const Event& used = *events_of(current_).used;
    events_of(current_).used->record(rows);
    copies_.wait_for(used);
    copy(next);
  }
  ++current_;
}

void WeightStream::finish() {
  Event done(context_, false);
  done.record(copies_);
  done.wait("streamed weights");
}

}  // namespace vd::cuda
