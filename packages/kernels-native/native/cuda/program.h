// A program on a GPU: rows as launches on a stream of its own.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../core/program.h"
#include "loader.h"

namespace vd::cuda {

/** Lets runs queue what they launch in the order in which they were asked for. */
class RunOrder {
 public:
  /** The turn of a run, from when the runs before it have queued their launches. */
  class Turn {
   public:
    Turn(RunOrder& order, uint64_t number);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    RunOrder& order_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t turn_ = 0;
};

class CudaProgram final : public Program {
 public:
  /** Chooses a variant for each row, loads them and, if asked for, records them as one graph. Throws Error. */
  CudaProgram(const LoadContext& device, std::vector<Row> rows, std::vector<BufferBinding> buffers, const CompileOptions& options);
  ~CudaProgram() override;
  RunTimes run(const RunRequest& request) override;
  void queue(const RunRequest& request) override;
  std::function<void()> waiter() const override;
  bool queues_runs() const override { return options_.capture; }
  const ProgramInfo& info() const override { return info_; }

 private:
  /** Offsets of packed sequences are data: they are checked before every run. */
  struct Offsets {
    std::string where;
    const BufferBinding* binding = nullptr;
    size_t byteOffset = 0;
    int64_t count = 0, limit = 0;
  };
  static std::vector<Offsets> offsets_of(const std::vector<Row>& rows, const std::vector<BufferBinding>& buffers);
  void check_offsets() const;
  void queue_copies(const std::vector<MemoryCopy>& copies);
  void await_on_stream(const Program& other);
  void begin_on_stream(const RunRequest& request);
  std::shared_ptr<Event> queue_launches(const RunRequest& request);
  std::shared_ptr<Event> last_queued() const;
  void launch(size_t row);
  void stop_if_cancelled();
  void launch_all(bool may_cancel);
  std::vector<double> launch_timed();
  void replay();
  [[noreturn]] void fail(const Error& error) const;

  LoadContext device_;
  std::vector<BufferBinding> buffers_;
  CompileOptions options_;
  /** Found before rows get stand-in addresses. */
  std::vector<Offsets> offsets_;
  /** Declared before the rows: choosing their variants fills in what each could have. */
  ProgramInfo info_;
  LoadedRows loaded_;
  Stream stream_;
  RunOrder order_;
  /** The end of the run that was queued last. */
  std::shared_ptr<Event> lastQueued_;
  mutable std::mutex lastMutex_;
  /** With CompileOptions::capture. */
  std::optional<Graph> graph_;
  /** Of timed runs: one before the first row and one after each. */
  std::vector<std::unique_ptr<Event>> marks_;
  /** Rows launched by the current run. */
  size_t launched_ = 0;
};

}  // namespace vd::cuda
