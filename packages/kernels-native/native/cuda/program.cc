#include "program.h"

#include <chrono>

#include "../core/error.h"
#include "../core/offsets.h"
#include "../driver/nvtx.h"
#include "variant_choice.h"

namespace vd::cuda {
namespace {

using Clock = std::chrono::steady_clock;

void check_device(const LoadContext& device, const vd::Memory& memory) {
  if (&static_cast<const DeviceMemory&>(memory).context() != device.context.get())
    throw Error(ErrorCode::layout, "compile", "buffers of this device", "one of another device, or from before the device was lost");
}

void check_buffers(const LoadContext& device, const std::vector<BufferBinding>& buffers) {
  for (const BufferBinding& binding : buffers) {
    if (binding.memory->on_host()) continue;
    check_device(device, *binding.memory);
  }
}

/** What was chosen for the same rows before, or what is chosen now. rows: with stand-in addresses. */
std::shared_ptr<const Choices> choices_for(const LoadContext& device, const std::vector<Row>& rows, const CompileOptions& options) {
  const std::string key = choice_key(options);
  if (auto known = device.choices->find(key)) return known;
  auto chosen = choose_variants(*device.context, rows, options);
  device.choices->keep(key, chosen);
  return chosen;
}

LoadedRows choose_and_load(const LoadContext& device, std::vector<Row>& rows, const std::vector<BufferBinding>& buffers,
                           const CompileOptions& options, ProgramInfo& info) {
  check_buffers(device, buffers);
  if (const auto& memory = options.space.memory; memory && !memory->on_host()) check_device(device, *memory);
  const StandInAddresses standIns(rows, buffers);
  const std::shared_ptr<const Choices> chosen = choices_for(device, rows, options);
  info = chosen->info;
  return load_rows(device, chosen->rows, standIns, options);
}

}  // namespace

RunOrder::Turn::Turn(RunOrder& order, uint64_t number) : order_(order) {
  std::unique_lock lock(order_.mutex_);
  order_.changed_.wait(lock, [&] { return order_.turn_ == number; });
}

RunOrder::Turn::~Turn() {
  const std::lock_guard lock(order_.mutex_);
  ++order_.turn_;
  order_.changed_.notify_all();
}

CudaProgram::CudaProgram(const LoadContext& device, std::vector<Row> rows, std::vector<BufferBinding> buffers,
                         const CompileOptions& options)
    : device_(device),
      buffers_(std::move(buffers)),
      options_(options),
      offsets_(offsets_of(rows, buffers_)),
      loaded_(choose_and_load(device, rows, buffers_, options, info_)),
      stream_(device.context, options.goesFirst ? Priority::first : Priority::usual) {
  options_.rowsKey.clear();
  const WeightStream* weights = loaded_.weights.get();
  info_.scratch_bytes = loaded_.workspaceBytes + (weights != nullptr ? weights->slot_bytes() : 0);
  info_.streamed_bytes = weights != nullptr ? weights->bytes_per_run() : 0;
  info_.packed_bytes = device_.residency->bytes();
  for (const ReadyRow& row : loaded_.rows) {
    info_.fast.push_back(true);
    info_.variants.push_back(row.variant);
    info_.launches.push_back(static_cast<int>(row.launches.size()));
  }
  // Here, not in the first run, which somebody waits for: programs are often loaded while others run.
  if (options_.capture) graph_.emplace(stream_, [this] { launch_all(false); });
}

CudaProgram::~CudaProgram() {
  if (!lastQueued_ || device_.context->lost()) return;
  // What it works in goes next.
  try {
    device_.context->enter("free");
    lastQueued_->wait("free");
  } catch (const Error&) {
  }
}

std::vector<CudaProgram::Offsets> CudaProgram::offsets_of(const std::vector<Row>& rows, const std::vector<BufferBinding>& buffers) {
  std::vector<Offsets> result;
  for (const Row& row : rows) {
    for (const PackedOffsets& packed : row.offsets) {
      const Tensor& t = row.tensors[static_cast<size_t>(packed.tensor)];
      const std::string where = tensor_label(row, packed.tensor);
      const BufferBinding* binding = binding_of(buffers, t.data);
      if (binding == nullptr) throw Error(ErrorCode::layout, where, "offsets in memory of the device", "constant host memory");
      const auto offset = static_cast<size_t>(static_cast<std::byte*>(t.data) - binding->memory->data());
      result.push_back({where, binding, offset, t.count(), packed.limit});
    }
  }
  return result;
}

void CudaProgram::check_offsets() const {
  for (const Offsets& o : offsets_) {
    std::vector<int32_t> values(static_cast<size_t>(o.count));
    o.binding->memory->read(o.byteOffset, values.data(), values.size() * sizeof(int32_t));
    vd::check_offsets(values, o.limit, o.where);
  }
}

/** The rows wait for them on the stream, not this thread. */
void CudaProgram::queue_copies(const std::vector<MemoryCopy>& copies) {
  for (const MemoryCopy& copy : copies) {
    if (copy.target->on_host() || copy.source->on_host()) {
      copy.run();
      continue;
    }
    auto& target = static_cast<DeviceMemory&>(*copy.target);
    if (&target.context() != device_.context.get())
      throw Error(ErrorCode::layout, "run", "copies to memory of this device", "memory of another one");
    target.queue_copy(stream_, copy.to, static_cast<const DeviceMemory&>(*copy.source), copy.from, copy.bytes);
  }
}

void CudaProgram::launch(size_t index) {
  ReadyRow& row = loaded_.rows[index];
  const driver::nvtx::Range range(row.name);
  ++launched_;
  if (loaded_.weights) loaded_.weights->before(index, stream_);
  for (ReadyLaunch& launch : row.launches) launch_on(stream_, launch, row.name);
  if (loaded_.weights) loaded_.weights->after(index, stream_);
}

/** Leaves nothing under way behind. */
void CudaProgram::stop_if_cancelled() {
  if (!cancelled_.load(std::memory_order_relaxed)) return;
  Event done(device_.context, false);
  done.record(stream_);
  done.wait("run");
  if (loaded_.weights) loaded_.weights->finish();
  throw Error(ErrorCode::cancelled, "run", "the run to go on", "a cancel");
}

void CudaProgram::launch_all(bool may_cancel) {
  launched_ = 0;
  if (loaded_.weights) loaded_.weights->begin(stream_);
  for (size_t i = 0; i < loaded_.rows.size(); ++i) {
    if (may_cancel) stop_if_cancelled();
    launch(i);
  }
}

/** The stream never waits for the clock: events lie between the rows and are read behind it while later rows run, so that
 *  nothing is left to read when the last one is reached. */
std::vector<double> CudaProgram::launch_timed() {
  while (marks_.size() <= loaded_.rows.size()) marks_.push_back(std::make_unique<Event>(device_.context, true));
  launched_ = 0;
  marks_[0]->record(stream_);
  if (loaded_.weights) loaded_.weights->begin(stream_);
  for (size_t i = 0; i < loaded_.rows.size(); ++i) {
    stop_if_cancelled();
    launch(i);
    marks_[i + 1]->record(stream_);
  }
  std::vector<double> times;
  times.reserve(loaded_.rows.size());
  for (size_t i = 0; i < loaded_.rows.size(); ++i) {
    marks_[i + 1]->wait("run");
    times.push_back(marks_[i + 1]->us_since(*marks_[i]));
  }
  return times;
}

void CudaProgram::replay() {
  graph_->launch(stream_);
  launched_ = loaded_.rows.size();
}

std::shared_ptr<Event> CudaProgram::last_queued() const {
  const std::lock_guard lock(lastMutex_);
  return lastQueued_;
}

void CudaProgram::await_on_stream(const Program& other) {
  const auto* program = dynamic_cast<const CudaProgram*>(&other);
  if (program == nullptr) return;
  // The driver would report the other device's loss as if it were this one's.
  if (program->device_.context->lost()) throw Error(ErrorCode::driver, "run", "a working device to wait for", "one that was lost");
  if (const std::shared_ptr<Event> done = program->last_queued()) stream_.wait_for(*done);
}

/** Queues what comes before the first row. */
void CudaProgram::begin_on_stream(const RunRequest& request) {
  for (const std::shared_ptr<Program>& program : request.after) await_on_stream(*program);
  // An event of another device may have been let go of, there.
  if (!request.after.empty()) device_.context->enter("run");
  queue_copies(request.copies);
}

/** Queues a run that measures nothing; returns its end. */
std::shared_ptr<Event> CudaProgram::queue_launches(const RunRequest& request) {
  begin_on_stream(request);
  if (options_.capture) replay();
  else launch_all(true);
  auto done = std::make_shared<Event>(device_.context, false);
  done->record(stream_);
  const std::lock_guard lock(lastMutex_);
  lastQueued_ = done;
  return done;
}

void CudaProgram::queue(const RunRequest& request) {
  const RunOrder::Turn turn(order_, request.number);
  device_.context->enter("run");
  check_offsets();
  try {
    queue_launches(request);
  } catch (const Error& error) {
    fail(error);
  }
}

std::function<void()> CudaProgram::waiter() const {
  return [this, done = last_queued()] {
    if (!done) return;
    device_.context->enter("run");
    try {
      done->wait("run");
    } catch (const Error& error) {
      fail(error);
    }
  };
}

RunTimes CudaProgram::run(const RunRequest& request) {
  // Until the launches are queued, also where that fails.
  std::optional<RunOrder::Turn> turn(std::in_place, order_, request.number);
  device_.context->enter("run");
  check_offsets();
  RunTimes times;
  const auto start = Clock::now();
  try {
    if (request.timeRows) {
      begin_on_stream(request);
      times.row_us = launch_timed();
    } else {
      times.replayed = options_.capture;
      const std::shared_ptr<Event> done = queue_launches(request);
      turn.reset();
      done->wait("run");
    }
  } catch (const Error& error) {
    fail(error);
  }
  times.total_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return times;
}

/** Launches are asynchronous: a fault shows later than its row, so the message names how far the rows had got. */
void CudaProgram::fail(const Error& error) const {
  if (!device_.context->lost() || launched_ == 0) throw error;
  const std::string& last = loaded_.rows[launched_ - 1].name;
  throw Error(error.code, "run", error.expected,
              error.got + ", in one of " + std::to_string(launched_) + " rows from " + loaded_.rows.front().name + " to " + last,
              error.hint);
}

}  // namespace vd::cuda
