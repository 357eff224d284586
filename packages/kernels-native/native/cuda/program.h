// A program on a GPU: rows as launches on a stream of its own.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "../core/program.h"
#include "loader.h"

namespace vd::cuda {

class CudaProgram final : public Program {
 public:
  /** Chooses a variant for each row, loads them and, if asked for, records them as one graph. Throws Error. */
  CudaProgram(const LoadContext& device, std::vector<Row> rows, std::vector<BufferBinding> buffers, const CompileOptions& options);
  ~CudaProgram() override;
  RunTimes run(bool time_rows, const std::vector<MemoryCopy>& first) override;
  const ProgramInfo& info() const override { return info_; }

 private:
  /** Offsets of packed sequences are data: they are checked before every run. */
  struct Offsets {
    std::string where;
    const BufferBinding* binding = nullptr;
    size_t byteOffset = 0;
    int64_t count = 0, limit = 0;
  };
  void note_offsets(const std::vector<Row>& rows);
  void check_offsets() const;
  void queue_copies(const std::vector<MemoryCopy>& copies);
  void launch(size_t row);
  void stop_if_cancelled();
  void launch_all(bool may_cancel);
  std::vector<double> launch_timed();
  void replay();
  [[noreturn]] void fail(const Error& error) const;

  LoadContext device_;
  std::vector<BufferBinding> buffers_;
  CompileOptions options_;
  /** Declared before the rows: choosing their variants fills in what each could have. */
  ProgramInfo info_;
  LoadedRows loaded_;
  Stream stream_;
  /** With CompileOptions::capture. */
  std::optional<Graph> graph_;
  /** Of timed runs: one before the first row and one after each. */
  std::vector<std::unique_ptr<Event>> marks_;
  std::vector<Offsets> offsets_;
  /** Rows launched by the current run. */
  size_t launched_ = 0;
};

}  // namespace vd::cuda
