#include "stream.h"

#include <chrono>
#include <thread>

#include "../driver/peers.h"

namespace vd::cuda {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/** A sleep of kSleep takes half as long again: so that no wait seems more than a few percent longer than it was, shorter
 *  ones are spent asking, as CUDA itself does by default. */
constexpr auto kSpin = 10ms;
constexpr auto kSleep = 100us;
/** No single run takes this long; a device that does is not coming back. */
constexpr auto kMostWait = 600s;

}  // namespace

Stream::Stream(std::shared_ptr<Context> context, Priority priority) : context_(std::move(context)) {
  context_->enter("stream");
  // Smaller numbers go first; those that a device does not have count as its first.
  const int number = priority == Priority::first ? -1 : 0;
  context_->check(context_->api().stream_create(&handle_, driver::kStreamNonBlocking, number), "stream");
}

Stream::~Stream() {
  if (context_->lost() || context_->api().context_set_current(context_->handle()) != driver::kSuccess) return;
  context_->api().stream_destroy(handle_);
}

void Stream::wait_for(const Event& event) const {
  context_->check(context_->api().stream_wait_event(handle_, event.handle(), 0), "stream");
}

void Stream::copy(driver::DevicePtr target, driver::DevicePtr source, size_t bytes, const Context& from) const {
  const driver::Api& api = context_->api();
  if (from.handle() == context_->handle()) return context_->check(api.copy_on_device(target, source, bytes, handle_), "copy");
  // The driver would report the other device's loss as if it were this one's.
  if (from.lost()) throw Error(ErrorCode::driver, "copy", "a working device to copy from", "one that was lost");
  driver::reach_peer(from.handle());
  context_->check(api.copy_to_peer(target, context_->handle(), source, from.handle(), bytes, handle_), "copy");
}

Event::Event(std::shared_ptr<Context> context, bool timing) : context_(std::move(context)) {
  context_->check(context_->api().event_create(&handle_, timing ? 0 : driver::kEventDisableTiming), "event");
}

Event::~Event() {
  if (context_->lost() || context_->api().context_set_current(context_->handle()) != driver::kSuccess) return;
  context_->api().event_destroy(handle_);
}

void Event::record(const Stream& stream) { context_->check(context_->api().event_record(handle_, stream.handle()), "event"); }

void Event::wait(const std::string& where) {
  const auto start = Clock::now();
  for (;;) {
    const driver::Result result = context_->api().event_query(handle_);
    if (result == driver::kSuccess) return;
    if (result != driver::kNotReady) context_->check(result, where);
    const auto waited = Clock::now() - start;
    if (waited > kMostWait)
      throw Error(ErrorCode::driver, where, "an end within ten minutes", "none", "The device hangs: restart the process.");
    if (waited < kSpin) std::this_thread::yield();
    else std::this_thread::sleep_for(kSleep);
  }
}

double Event::us_since(const Event& start) const {
  float ms = 0;
  context_->check(context_->api().event_elapsed_ms(&ms, start.handle_, handle_), "event");
  return static_cast<double>(ms) * 1000;
}

Graph::Graph(const Stream& stream, const std::function<void()>& body) : context_(stream.context()) {
  const driver::Api& api = context_.api();
  context_.check(api.stream_begin_capture(stream.handle(), driver::kCaptureThreadLocal), "capture");
  driver::GraphHandle graph = nullptr;
  try {
    body();
  } catch (...) {
    if (api.stream_end_capture(stream.handle(), &graph) == driver::kSuccess && graph != nullptr) api.graph_destroy(graph);
    throw;
  }
  context_.check(api.stream_end_capture(stream.handle(), &graph), "capture");
  const driver::Result result = api.graph_instantiate(&handle_, graph, 0);
  api.graph_destroy(graph);
  context_.check(result, "capture");
  // Else the first launch does it, which takes milliseconds for a thousand nodes.
  const driver::Result uploaded = api.graph_upload(handle_, stream.handle());
  if (uploaded != driver::kSuccess) api.graph_exec_destroy(handle_);
  context_.check(uploaded, "capture");
}

Graph::~Graph() {
  if (context_.lost() || context_.api().context_set_current(context_.handle()) != driver::kSuccess) return;
  context_.api().graph_exec_destroy(handle_);
}

void Graph::launch(const Stream& stream) { context_.check(context_.api().graph_launch(handle_, stream.handle()), "replay"); }

}  // namespace vd::cuda
