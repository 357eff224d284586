#include "backend.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>

#include "../core/error.h"
#include "../core/offsets.h"
#include "../core/op_table.h"
#include "../core/thread_pool.h"
#include "../driver/nvtx.h"
#include "fast_paths.h"
#include "pack_cache.h"
#include "prepared.h"
#include "reference.h"

namespace vd::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double since_us(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

template <class Args, void (*kReference)(const Args&, ThreadPool&)> class ReferenceRow final : public PreparedRow {
 public:
  explicit ReferenceRow(const Args& args) : args_(args) {}
  const char* name() const override { return "definition"; }
  void run(ThreadPool& pool, const Scratch&) override { kReference(args_, pool); }

 private:
  Args args_;
};

/** The row on the fast path of its op; null where it has none or that declines. */
std::unique_ptr<PreparedRow> prepare_fast(const Row& row, PackCache& cache, const Target& target) {
  const std::string_view id = kOps[row.op]->id;
#define VD_FAST_PATH(name, Args) \
  if (id == #name) return prepare_##name(read_##name##_args(row), cache, target);
  VD_FOR_EACH_CPU_FAST_PATH(VD_FAST_PATH)
#undef VD_FAST_PATH
  return nullptr;
}

std::unique_ptr<PreparedRow> prepare_reference(const Row& row) {
  const std::string_view id = kOps[row.op]->id;
#define VD_REFERENCE(name, Args) \
  if (id == #name) return std::make_unique<ReferenceRow<Args, name##_reference>>(read_##name##_args(row));
  VD_FOR_EACH_OP(VD_REFERENCE)
#undef VD_REFERENCE
  throw Error(ErrorCode::internal, row.name, "an op of the contract", std::to_string(row.op));
}

/** Activations on the CPU are float32; weights, and what the contract says, may be stored in 16 bits. */
void require_float32(const Row& row) {
  const OpRow& op = *kOps[row.op];
  for (int t = 0; t < op.num_tensors; ++t) {
    const Tensor& tensor = row.tensors[t];
    const bool half = tensor.present() && (tensor.dtype == DType::f16 || tensor.dtype == DType::bf16);
    if (half && !op.tensors[t].constant && !op.tensors[t].half_on_cpu)
      throw Error(ErrorCode::unsupported, row.name + "] [" + op.tensors[t].name, "f32 activations on the CPU",
                  kDTypeNames[static_cast<int>(tensor.dtype)], "16-bit types are for weights there.");
  }
}

struct DeviceState {
  explicit DeviceState(const DeviceOptions& o) : options(o), pool(o.threads) {}
  DeviceOptions options;
  ThreadPool pool;
  PackCache cache{&pool};
  /** The pool runs one program at a time. */
  std::mutex busy;
};

class CpuProgram final : public Program {
 public:
  CpuProgram(std::shared_ptr<DeviceState> state, const std::vector<Row>& rows, std::vector<BufferBinding> buffers)
      : state_(std::move(state)), buffers_(std::move(buffers)) {
    for (const Row& row : rows) add(row);
    stride_ = (info_.scratch_bytes + 4095) / 4096 * 4096;
    if (stride_ > 0) scratch_ = std::make_unique<AlignedBlock>(stride_ * static_cast<size_t>(state_->pool.threads()));
    if (shared_bytes_ > 0) shared_ = std::make_unique<AlignedBlock>(shared_bytes_);
    info_.scratch_bytes = stride_ * static_cast<size_t>(state_->pool.threads()) + shared_bytes_;
    info_.packed_bytes = state_->cache.bytes();
  }

  RunTimes run(const RunRequest& request) override {
    const std::lock_guard lock(state_->busy);
    const Scratch scratch{[](const Scratch& s, int worker) { return static_cast<CpuProgram*>(s.owner)->block(worker); }, this,
                          shared_ ? shared_->data() : nullptr};
    RunTimes times;
    if (request.timeRows) times.row_us.reserve(rows_.size());
    const auto start = Clock::now();
    for (const MemoryCopy& copy : request.copies) copy.run();
    for (const auto& row : rows_) {
      if (cancelled_.load(std::memory_order_relaxed)) throw Error(ErrorCode::cancelled, "run", "the run to go on", "a cancel");
      const driver::nvtx::Range range(row.name);
      const auto row_start = Clock::now();
      for (const Offsets& o : row.offsets) check_offsets({o.tensor.as<int32_t>(), static_cast<size_t>(o.tensor.count())}, o.limit, o.where);
      row.prepared->run(state_->pool, scratch);
      if (request.timeRows) times.row_us.push_back(since_us(row_start));
    }
    times.total_us = since_us(start);
    return times;
  }

  const ProgramInfo& info() const override { return info_; }

 private:
  struct Offsets {
    std::string where;
    Tensor tensor;
    int64_t limit;
  };

  struct Step {
    std::string name;
    std::unique_ptr<PreparedRow> prepared;
    /** Checked before every run. */
    std::vector<Offsets> offsets;
  };

  void add(const Row& row) {
    require_float32(row);
    std::unique_ptr<PreparedRow> prepared;
    if (!state_->options.reference) prepared = prepare_fast(row, state_->cache, state_->options.target);
    info_.fast.push_back(prepared != nullptr);
    if (!prepared) prepared = prepare_reference(row);
    info_.variants.push_back(prepared->name());
    info_.scratch_bytes = std::max(info_.scratch_bytes, prepared->scratch_bytes());
    shared_bytes_ = std::max(shared_bytes_, prepared->shared_bytes());
    Step step{row.name, std::move(prepared), {}};
    for (const PackedOffsets& o : row.offsets)
      step.offsets.push_back({tensor_label(row, o.tensor), row.tensors[static_cast<size_t>(o.tensor)], o.limit});
    rows_.push_back(std::move(step));
  }

  std::byte* block(int worker) const { return scratch_ ? scratch_->data() + stride_ * static_cast<size_t>(worker) : nullptr; }

  std::shared_ptr<DeviceState> state_;
  std::vector<BufferBinding> buffers_;
  std::vector<Step> rows_;
  std::unique_ptr<AlignedBlock> scratch_;
  size_t stride_ = 0;
  std::unique_ptr<AlignedBlock> shared_;
  size_t shared_bytes_ = 0;
  ProgramInfo info_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const DeviceOptions& options) : state_(std::make_shared<DeviceState>(options)) {}
  std::unique_ptr<Program> compile(std::vector<Row> rows, std::vector<BufferBinding> buffers, const CompileOptions&) override {
    return std::make_unique<CpuProgram>(state_, rows, std::move(buffers));
  }

 private:
  std::shared_ptr<DeviceState> state_;
};

}  // namespace

std::shared_ptr<Device> make_device(const DeviceOptions& options) { return std::make_shared<CpuDevice>(options); }

}  // namespace vd::cpu
