#include "backend.h"

#include "locked_memory.h"
#include "program.h"
#include "variant_choice.h"

namespace vd::cuda {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const ContextOptions& options) : options_(options) {}

  std::unique_ptr<Program> compile(std::vector<Row> rows, std::vector<BufferBinding> buffers, const CompileOptions& options) override {
    const LoadContext device = open_or_reopen();
    device.residency->prune();
    device.pinned->prune();
    return std::make_unique<CudaProgram>(device, std::move(rows), std::move(buffers), options);
  }

  std::shared_ptr<vd::Memory> allocate(size_t bytes, Contents contents) override {
    const LoadContext device = open_or_reopen();
    device.context->enter("allocate");
    return std::make_shared<DeviceMemory>(device.context, device.transfer, bytes, contents);
  }

  std::shared_ptr<vd::Memory> allocate_on_host(size_t bytes) override {
    const LoadContext device = open_or_reopen();
    device.context->enter("allocate");
    return std::make_shared<LockedMemory>(device.context, bytes);
  }

  void prepare() override { open_or_reopen(); }

  void trim(Unused which) override {
    const std::lock_guard lock(mutex_);
    if (current_.residency) current_.residency->release_unused(which);
    // Streamed weights are copied in their last form: what is page-locked is no more than a program needs.
    if (current_.pinned && which == Unused::all) current_.pinned->release_unused();
  }

  DeviceMemoryInfo memory() override {
    const LoadContext device = open_or_reopen();
    device.context->enter("memory");
    DeviceMemoryInfo info;
    device.context->check(device.context->api().memory_info(&info.free_bytes, &info.total_bytes), "memory");
    info.resident_bytes = device.residency->bytes();
    return info;
  }

 private:
  void open(bool after_loss) {
    auto context = std::make_shared<Context>(options_, after_loss);
    auto residency = std::make_shared<Residency>();
    context->on_shortage([kept = std::weak_ptr(residency)] {
      const auto alive = kept.lock();
      return alive && alive->release_unused();
    });
    auto transfer = std::make_shared<Transfer>(context);
    current_ = {std::move(context), std::move(transfer), std::move(residency), std::make_shared<PinnedWeights>(),
                std::make_shared<KnownChoices>()};
  }

  /** The parts of the device, which opens at the first use and again after it was lost. */
  LoadContext open_or_reopen() {
    const std::lock_guard lock(mutex_);
    if (!current_.context || current_.context->lost()) open(current_.context != nullptr);
    return current_;
  }

  ContextOptions options_;
  std::mutex mutex_;
  LoadContext current_;
};

}  // namespace

std::shared_ptr<Device> make_device(const ContextOptions& options) { return std::make_shared<CudaDevice>(options); }

}  // namespace vd::cuda
