#include "backend.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>

#include "../driver/nvtx.h"
#include "../generated/op_args.h"
#include "../core/error.h"
#include "../core/op_table.h"
#include "fast_ops.h"
#include "pack_cache.h"
#include "prepared.h"
#include "reference.h"
#include "../core/thread_pool.h"

namespace vd::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double since_us(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

template <class Args, void (*kReference)(const Args&, ThreadPool&)>
class ReferenceRow final : public PreparedRow {
 public:
  explicit ReferenceRow(const Args& args) : args_(args) {}
  void run(ThreadPool& pool, const Scratch&) override { kReference(args_, pool); }

 private:
  Args args_;
};

/** Ops that native/cpu has a fast path for: add a prepare overload in fast_ops.h and a line here. */
std::unique_ptr<PreparedRow> prepare_fast(const Row& row, PackCache& cache, Isa isa) {
  const std::string_view id = kOps[row.op]->id;
  if (id == "conv") return prepare_conv(read_conv_args(row), cache, isa);
  if (id == "linear") return prepare_linear(read_linear_args(row), cache, isa);
  if (id == "attention") return prepare_attention(read_attention_args(row), cache, isa);
  if (id == "group_norm") return prepare_group_norm(read_group_norm_args(row), cache, isa);
  if (id == "group_norm_stats") return prepare_group_norm_stats(read_group_norm_stats_args(row), cache, isa);
  if (id == "layer_norm") return prepare_layer_norm(read_layer_norm_args(row), cache, isa);
  if (id == "pointwise") return prepare_pointwise(read_pointwise_args(row), cache, isa);
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

/** Activations on the CPU are float32; only weights may be stored in 16 bits. */
void require_float32(const Row& row) {
  const OpRow& op = *kOps[row.op];
  for (int t = 0; t < op.num_tensors; ++t) {
    const Tensor& tensor = row.tensors[t];
    const bool half = tensor.present() && (tensor.dtype == DType::f16 || tensor.dtype == DType::bf16);
    if (half && !op.tensors[t].constant && std::string_view(op.tensors[t].name) != "mask")
      throw Error(ErrorCode::unsupported, row.name + "] [" + op.tensors[t].name, "f32 activations on the CPU",
                  kDTypeNames[static_cast<int>(tensor.dtype)], "16-bit types are for weights there.");
  }
}

/** Packed sequences: offsets are data, so they can only be checked when they are there. */
void check_offsets(const Row& row, const Tensor& offsets, int64_t limit, const char* name) {
  const auto* values = offsets.as<int32_t>();
  int32_t last = 0;
  for (int64_t i = 0; i < offsets.dims[0]; ++i) {
    if (values[i] < last || values[i] > limit)
      throw Error(ErrorCode::attr, row.name + "] [attention] [" + name,
                  "offsets that never fall and end at most at " + std::to_string(limit), std::to_string(values[i]));
    last = values[i];
  }
}

struct DeviceState {
  explicit DeviceState(const DeviceOptions& o) : options(o), pool(o.threads) {}
  DeviceOptions options;
  ThreadPool pool;
  PackCache cache;
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
    info_.scratch_bytes = stride_ * static_cast<size_t>(state_->pool.threads());
    info_.packed_bytes = state_->cache.bytes();
  }

  RunTimes run(bool time_rows) override {
    const std::lock_guard lock(state_->busy);
    const Scratch scratch{[](const Scratch& s, int worker) { return static_cast<CpuProgram*>(s.owner)->block(worker); }, this};
    RunTimes times;
    if (time_rows) times.row_us.reserve(rows_.size());
    const auto start = Clock::now();
    for (const auto& row : rows_) {
      if (cancelled_.load(std::memory_order_relaxed)) throw Error(ErrorCode::cancelled, "run", "the run to go on", "a cancel");
      const driver::nvtx::Range range(row.name);
      const auto row_start = Clock::now();
      if (row.packed) check_packed(*row.packed);
      row.prepared->run(state_->pool, scratch);
      if (time_rows) times.row_us.push_back(since_us(row_start));
    }
    times.total_us = since_us(start);
    return times;
  }

  const ProgramInfo& info() const override { return info_; }

 private:
  struct Step {
    std::string name;
    std::unique_ptr<PreparedRow> prepared;
    /** Set for attention over packed sequences, whose offsets are checked before every run. */
    std::unique_ptr<Row> packed;
  };

  void add(const Row& row) {
    require_float32(row);
    std::unique_ptr<PreparedRow> prepared;
    if (!state_->options.reference) prepared = prepare_fast(row, state_->cache, state_->options.isa);
    info_.fast.push_back(prepared != nullptr);
    if (!prepared) prepared = prepare_reference(row);
    info_.scratch_bytes = std::max(info_.scratch_bytes, prepared->scratch_bytes());
    Step step{row.name, std::move(prepared), nullptr};
    if (std::string_view(kOps[row.op]->id) == "attention" && read_attention_args(row).cuQ.present())
      step.packed = std::make_unique<Row>(row);
    rows_.push_back(std::move(step));
  }

  static void check_packed(const Row& row) {
    const AttentionArgs args = read_attention_args(row);
    check_offsets(row, args.cuQ, args.q.dims[2], "cuQ");
    check_offsets(row, args.cuK, args.k.dims[2], "cuK");
  }

  std::byte* block(int worker) const {
    return scratch_ ? scratch_->data() + stride_ * static_cast<size_t>(worker) : nullptr;
  }

  std::shared_ptr<DeviceState> state_;
  std::vector<BufferBinding> buffers_;
  std::vector<Step> rows_;
  std::unique_ptr<AlignedBlock> scratch_;
  size_t stride_ = 0;
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
