#include "loader.h"

#include <algorithm>

namespace vd::cuda {
namespace {

constexpr size_t kWorkspaceAlignment = 256;

class Loader {
 public:
  Loader(const LoadContext& device, std::vector<ChosenRow> rows, const StandInAddresses& standIns,
         const std::vector<BufferBinding>& buffers)
      : device_(device), chosen_(std::move(rows)), standIns_(standIns), buffers_(buffers), addresses_(standIns.size(), 0) {}

  LoadedRows load() {
    device_.context->enter("load");
    upload_direct();
    allocate_workspace();
    for (ChosenRow& row : chosen_) add(row);
    scratch_.reset();
    device_.transfer->finish("load");
    return std::move(loaded_);
  }

 private:
  /** The operands that launches other than packs read. */
  std::vector<bool> direct_operands() const {
    std::vector<bool> direct(standIns_.size(), false);
    const auto visit = [&](uint64_t word) {
      if (const auto reference = standIns_.find(word)) direct[reference->index] = true;
    };
    for (const ChosenRow& row : chosen_) {
      for (const Launch& launch : row.variant.launches) for_each_word(launch, visit);
      for (const Pack& pack : row.variant.packs)
        if (!pack.constant)
          for (const Launch& launch : pack.launches) for_each_word(launch, visit);
    }
    return direct;
  }

  void upload_direct() {
    const std::vector<bool> direct = direct_operands();
    for (size_t i = 0; i < direct.size(); ++i) {
      if (!direct[i]) continue;
      const Range& range = standIns_.range(i);
      auto block = device_.residency->find_or_make(device_.context, range, {-1, 0, range.bytes}, "weights",
                                                   [&](DeviceBlock& made) { upload(made.address(), range); });
      addresses_[i] = block->address();
      loaded_.blocks.push_back(std::move(block));
    }
  }

  /** Others may copy between two uploads: the stream keeps each loader's copies and packs in order. */
  void upload(driver::DevicePtr target, const Range& range) {
    const auto guard = device_.transfer->lock();
    device_.transfer->upload(target, range.memory->data() + range.offset, range.bytes);
    range.memory->release_pages(range.offset, range.bytes);
  }

  /** One workspace serves all rows: they run one after the other. */
  void allocate_workspace() {
    for (const ChosenRow& row : chosen_) loaded_.workspaceBytes = std::max(loaded_.workspaceBytes, row.variant.workspaceBytes);
    if (loaded_.workspaceBytes == 0) return;
    const size_t bytes = (loaded_.workspaceBytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    workspace_ = keep(std::make_shared<DeviceBlock>(device_.context, bytes, "workspace"));
  }

  driver::DevicePtr keep(std::shared_ptr<DeviceBlock> block) {
    loaded_.blocks.push_back(std::move(block));
    return loaded_.blocks.back()->address();
  }

  uint64_t resolve(uint64_t word) const {
    const auto reference = standIns_.find(word);
    return reference ? addresses_[reference->index] + reference->offset : word;
  }

  void add(ChosenRow& row) {
    BaseAddresses bases{workspace_, {}, [this](uint64_t word) { return resolve(word); }};
    ReadyRow ready{row.name, row.variant.name, {}};
    for (const Pack& pack : row.variant.packs) {
      bases.packs.push_back(0);
      bases.packs.back() = pack.constant ? constant_pack(pack, bases, row.name) : varying_pack(pack, bases, row.name, ready);
    }
    for (const Launch& launch : row.variant.launches) ready.launches.push_back(make_ready(*device_.context, launch, bases, row.name));
    loaded_.rows.push_back(std::move(ready));
  }

  /** A pack whose source may change: made again before every use. */
  driver::DevicePtr varying_pack(const Pack& pack, BaseAddresses& bases, const std::string& row, ReadyRow& ready) {
    const driver::DevicePtr address = keep(std::make_shared<DeviceBlock>(device_.context, pack.bytes, row));
    bases.packs.back() = address;
    for (const Launch& launch : pack.launches) ready.launches.push_back(make_ready(*device_.context, launch, bases, row));
    return address;
  }

  driver::DevicePtr constant_pack(const Pack& pack, BaseAddresses& bases, const std::string& row) {
    const auto reference = standIns_.find(reinterpret_cast<uint64_t>(pack.source));
    const Range range = reference ? standIns_.range(reference->index) : range_on_device(pack.source, row);
    const Form form{pack.kind, pack.targetType, pack.bytes, reference ? reference->offset : 0};
    const auto make = [&](DeviceBlock& block) {
      bases.packs.back() = block.address();
      const bool is_scratch = reference && addresses_[reference->index] == 0;
      if (is_scratch) addresses_[reference->index] = upload_scratch(range, row);
      for (const Launch& launch : pack.launches) {
        ReadyLaunch ready = make_ready(*device_.context, launch, bases, row);
        launch_on(device_.transfer->stream(), ready, row);
      }
      if (is_scratch) addresses_[reference->index] = 0;
    };
    return keep(device_.residency->find_or_make(device_.context, range, form, row, make));
  }

  /** Sources that only packs read pass through one block: the stream keeps copies and packs in order. */
  driver::DevicePtr upload_scratch(const Range& range, const std::string& row) {
    if (!scratch_ || scratch_->bytes() < range.bytes) {
      if (scratch_) device_.transfer->finish("load");
      scratch_.reset();
      scratch_ = std::make_shared<DeviceBlock>(device_.context, largest_source(range.bytes), row);
    }
    upload(scratch_->address(), range);
    return scratch_->address();
  }

  /** Bytes of the largest operand that is only packed, so that the scratch block is allocated once. */
  size_t largest_source(size_t least) const {
    for (size_t i = 0; i < standIns_.size(); ++i)
      if (addresses_[i] == 0) least = std::max(least, standIns_.range(i).bytes);
    return least;
  }

  Range range_on_device(const void* address, const std::string& row) const {
    const BufferBinding* binding = binding_of(buffers_, address);
    if (binding == nullptr) throw Error(ErrorCode::internal, row, "a source inside the program's buffers", "an address outside");
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - binding->memory->data());
    return {binding->memory, offset, 0};
  }

  const LoadContext& device_;
  std::vector<ChosenRow> chosen_;
  const StandInAddresses& standIns_;
  const std::vector<BufferBinding>& buffers_;
  /** By operand; 0 while it is not on the device. */
  std::vector<driver::DevicePtr> addresses_;
  driver::DevicePtr workspace_ = 0;
  std::shared_ptr<DeviceBlock> scratch_;
  LoadedRows loaded_;
};

}  // namespace

LoadedRows load_rows(const LoadContext& device, std::vector<ChosenRow> rows, const StandInAddresses& standIns,
                     const std::vector<BufferBinding>& buffers) {
  return Loader(device, std::move(rows), standIns, buffers).load();
}

}  // namespace vd::cuda
