// Streams, events and captured graphs as objects that clean up after themselves.
#pragma once
#include <memory>
#include <string>

#include "context.h"

namespace vd::cuda {

/** Which of two streams' kernels a device takes up first where both wait. */
enum class Priority { usual, first };

/** A queue of work on one device. */
class Stream {
 public:
  /** Throws Error(driver). */
  explicit Stream(std::shared_ptr<Context> context, Priority priority = Priority::usual);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  driver::StreamHandle handle() const { return handle_; }
  Context& context() const { return *context_; }
  /** Lets what is queued from now on wait until `event`, as it was last recorded, is reached. Throws Error(driver). */
  void wait_for(const class Event& event) const;
  /** Queues a copy to the stream's device, from there or from that of `from`. Throws Error(driver). */
  void copy(driver::DevicePtr target, driver::DevicePtr source, size_t bytes, const Context& from) const;

 private:
  std::shared_ptr<Context> context_;
  driver::StreamHandle handle_ = nullptr;
};

/** A point in a stream. */
class Event {
 public:
  /** timing: may be compared with another event. Throws Error(driver). */
  Event(std::shared_ptr<Context> context, bool timing);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream);
  /** Blocks the calling thread, at first by spinning, then asleep. Throws Error(driver), also after ten minutes. */
  void wait(const std::string& where);
  driver::EventHandle handle() const { return handle_; }
  /** µs from `start` to this event; both must have been reached. */
  double us_since(const Event& start) const;

 private:
  std::shared_ptr<Context> context_;
  driver::EventHandle handle_ = nullptr;
};

/** Launches recorded from a stream, replayed by one call. */
class Graph {
 public:
  /** Records what `body` launches on `stream`; nothing runs. Throws Error(driver) or what `body` throws. */
  Graph(const Stream& stream, const std::function<void()>& body);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const Stream& stream);

 private:
  Context& context_;
  driver::GraphExecHandle handle_ = nullptr;
};

}  // namespace vd::cuda
