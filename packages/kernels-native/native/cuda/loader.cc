#include "loader.h"

#include <algorithm>
#include <cstring>

#include "../../device/pack.h"
#include "program_space.h"
#include "weight_segments.h"

namespace vd::cuda {
namespace {

constexpr size_t kWorkspaceAlignment = 256;

/** True for packs that take much more memory than their sources: they may go between two programs, so their sources stay on the device. */
bool is_transform(const Pack& pack) { return pack.kind == static_cast<int>(device::PackKind::convWinograd); }

class Loader {
 public:
  Loader(const LoadContext& device, const std::vector<ChosenRow>& rows, const StandInAddresses& standIns, const CompileOptions& options)
      : device_(device), chosen_(rows), standIns_(standIns), addresses_(standIns.size(), 0), space_(options.space) {
    for (size_t i = 0; i < standIns.size(); ++i)
      if (standIns.on_device(i)) addresses_[i] = reinterpret_cast<uint64_t>(standIns.range(i).memory->data());
    if (options.streamBytes > 0) plan_streaming(options.streamBytes);
  }

  LoadedRows load() {
    device_.context->enter("load");
    upload_direct();
    allocate_workspace();
    if (plan_) loaded_.weights = std::make_unique<WeightStream>(device_.context, plan_->numSlots, plan_->slotBytes);
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (plan_) enter_segment(i);
      add(chosen_[i], i);
    }
    scratch_.reset();
    device_.transfer->finish("load");
    sources_.clear();
    return std::move(loaded_);
  }

 private:
  void plan_streaming(size_t streamBytes) {
    for (const ChosenRow& row : chosen_) uses_.push_back(large_weights(row.variant, standIns_));
    plan_ = cut_into_segments(uses_, streamBytes);
    if (!plan_) uses_.clear();
  }

  /** The operands that stay on the device because launches read them as they are. */
  std::vector<bool> resident_operands() const {
    std::vector<bool> resident(standIns_.size(), false);
    for (const ChosenRow& row : chosen_)
      for (const size_t i : direct_operands(row.variant, standIns_)) resident[i] = true;
    for (const std::vector<WeightUse>& row : uses_)
      for (const WeightUse& use : row)
        if (use.pack < 0) resident[use.operand] = false;
    return resident;
  }

  void upload_direct() {
    const std::vector<bool> operands = resident_operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i]) continue;
      auto block = resident(i);
      addresses_[i] = block->address();
      loaded_.blocks.push_back(std::move(block));
    }
  }

  /** An operand on the device as it is. */
  std::shared_ptr<DeviceBlock> resident(size_t operand) {
    const Range& range = standIns_.range(operand);
    return device_.residency->find_or_make(device_.context, range, {-1, 0, range.bytes}, "weights",
                                           [&](DeviceBlock& made) { upload(made.address(), range); });
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
    if (const auto given = space_.take(bytes)) {
      workspace_ = *given;
      loaded_.workspaceBytes = 0;
    } else {
      workspace_ = keep(std::make_shared<DeviceBlock>(device_.context, bytes, "workspace"));
    }
  }

  driver::DevicePtr keep(std::shared_ptr<DeviceBlock> block) {
    loaded_.blocks.push_back(std::move(block));
    return loaded_.blocks.back()->address();
  }

  uint64_t resolve(uint64_t word) const {
    const auto reference = standIns_.find(word);
    return reference ? addresses_[reference->index] + reference->offset : word;
  }

  /** Where a weight lies while row `index` runs, if it is streamed. */
  std::optional<driver::DevicePtr> streamed_address(size_t index, size_t operand, int pack) const {
    if (!plan_) return std::nullopt;
    for (const WeightUse& use : uses_[index])
      if (use.operand == operand && use.pack == pack)
        return loaded_.weights->slot_of(segment_) + plan_->segments[segment_].offsets.at({operand, use.form});
    return std::nullopt;
  }

  uint64_t resolve_in(size_t row, uint64_t word) const {
    const auto reference = standIns_.find(word);
    if (!reference) return word;
    if (const auto streamed = streamed_address(row, reference->index, -1)) return *streamed + reference->offset;
    return resolve(word);
  }

  /** Notes the segment of a row; with its first row, brings the segment's weights into host memory. */
  void enter_segment(size_t row) {
    if (row > 0 && row == plan_->segments[segment_].endRow) ++segment_;
    const WeightSegment& segment = plan_->segments[segment_];
    if (row != segment.firstRow) return;
    waits_ = true;
    std::map<WeightKey, std::shared_ptr<PinnedBlock>> blocks;
    for (size_t i = segment.firstRow; i < segment.endRow; ++i)
      for (const WeightUse& use : uses_[i]) {
        std::shared_ptr<PinnedBlock>& block = blocks[{use.operand, use.form}];
        if (!block) block = on_host(use, chosen_[i]);
      }
    StreamedSegment streamed{segment.firstRow, segment.endRow, {}};
    for (const auto& [key, offset] : segment.offsets) streamed.weights.push_back({blocks.at(key), offset});
    loaded_.weights->add(std::move(streamed));
  }

  /** A weight in page-locked host memory, in the form that launches read; packs are made in the slots' memory, which is free while a
   *  program is loaded. */
  std::shared_ptr<PinnedBlock> on_host(const WeightUse& use, const ChosenRow& row) {
    const Range& range = standIns_.range(use.operand);
    return device_.pinned->find_or_make(device_.context, range, use.form, row.name, [&](PinnedBlock& block) {
      if (use.pack < 0) {
        std::memcpy(block.data(), range.memory->data() + range.offset, range.bytes);
        range.memory->release_pages(range.offset, range.bytes);
        return;
      }
      const driver::DevicePtr made = loaded_.weights->slot_of(0);
      run_pack(row.variant.packs[static_cast<size_t>(use.pack)], use.operand, {use.pack, made}, row.name);
      device_.context->check(device_.context->api().copy_to_host(block.data(), made, use.form.bytes, device_.transfer->stream().handle()),
                             row.name);
    });
  }

  void add(const ChosenRow& row, size_t index) {
    BaseAddresses bases{workspace_, {}, [this, index](uint64_t word) { return resolve_in(index, word); }};
    ReadyRow ready{row.name, row.variant.name, {}};
    for (const Pack& pack : row.variant.packs) {
      bases.packs.push_back(0);
      bases.packs.back() = pack.constant ? constant_pack(pack, bases, index) : varying_pack(pack, bases, row.name, ready);
    }
    for (const Launch& launch : row.variant.launches) ready.launches.push_back(make_ready(*device_.context, launch, bases, row.name));
    if (waits_ && !ready.launches.empty()) {
      // Behind a wait for copies there is no launch before it to overlap with.
      ready.launches.front().overlapped = false;
      waits_ = false;
    }
    loaded_.rows.push_back(std::move(ready));
  }

  /** A pack whose source may change: made again before every use. */
  driver::DevicePtr varying_pack(const Pack& pack, BaseAddresses& bases, const std::string& row, ReadyRow& ready) {
    const driver::DevicePtr address = keep(std::make_shared<DeviceBlock>(device_.context, pack.bytes, row));
    bases.packs.back() = address;
    for (const Launch& launch : pack.launches) ready.launches.push_back(make_ready(*device_.context, launch, bases, row));
    return address;
  }

  driver::DevicePtr constant_pack(const Pack& pack, BaseAddresses& bases, size_t index) {
    const std::string& row = chosen_[index].name;
    const auto reference = standIns_.find(reinterpret_cast<uint64_t>(pack.source));
    const int number = static_cast<int>(bases.packs.size()) - 1;
    if (reference)
      if (const auto streamed = streamed_address(index, reference->index, number)) return *streamed;
    if (!reference) throw Error(ErrorCode::internal, row, "a source inside the program's buffers", "an address outside");
    const Range& whole = standIns_.range(reference->index);
    const bool isHere = standIns_.on_device(reference->index);
    const Range range = isHere ? Range{whole.memory, reference->offset, 0} : whole;
    const Form form{pack.kind, pack.targetType, pack.bytes, isHere ? 0 : reference->offset, is_transform(pack)};
    const auto operand = isHere ? std::nullopt : std::optional(reference->index);
    const auto make = [&](driver::DevicePtr address) {
      if (form.transformed && operand) keep_source(*operand);
      run_pack(pack, operand, {number, address}, row);
    };
    if (form.transformed && !device_.residency->has(range, form))
      if (const auto placed = space_.find_or_make(range, form, make)) return *placed;
    return keep(device_.residency->find_or_make(device_.context, range, form, row, [&](DeviceBlock& block) { make(block.address()); }));
  }

  /** Has an operand on the device as it is, from where a transform is made again without the host. Nobody holds it once this program is
   *  loaded: where memory runs short it goes, and comes from the host again. */
  void keep_source(size_t operand) {
    if (addresses_[operand] != 0) return;
    sources_.push_back(resident(operand));
    addresses_[operand] = sources_.back()->address();
  }

  /** Where a pack, by its number in its row, is made. */
  struct PackTarget {
    int number = 0;
    driver::DevicePtr address = 0;
  };

  /** Queues the launches of a pack. operand: its source, if that lies in host memory. */
  void run_pack(const Pack& pack, std::optional<size_t> operand, const PackTarget& target, const std::string& row) {
    BaseAddresses bases{workspace_, {}, [this](uint64_t word) { return resolve(word); }};
    bases.packs.resize(static_cast<size_t>(target.number) + 1, 0);
    bases.packs.back() = target.address;
    const bool is_scratch = operand && addresses_[*operand] == 0;
    if (is_scratch) addresses_[*operand] = upload_scratch(standIns_.range(*operand), row);
    for (const Launch& launch : pack.launches) {
      ReadyLaunch ready = make_ready(*device_.context, launch, bases, row);
      launch_on(device_.transfer->stream(), ready, row);
    }
    if (is_scratch) addresses_[*operand] = 0;
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

  const LoadContext& device_;
  const std::vector<ChosenRow>& chosen_;
  const StandInAddresses& standIns_;
  /** By operand; 0 while it is not on the device. */
  std::vector<driver::DevicePtr> addresses_;
  ProgramSpace space_;
  driver::DevicePtr workspace_ = 0;
  std::shared_ptr<DeviceBlock> scratch_;
  /** What transforms are made of; held until they are made. */
  std::vector<std::shared_ptr<DeviceBlock>> sources_;
  LoadedRows loaded_;
  /** Where weights are streamed: by row the weights that are, the segments, and the one of the row that is added. */
  std::vector<std::vector<WeightUse>> uses_;
  std::optional<WeightSegments> plan_;
  size_t segment_ = 0;
  /** The next launch is the first behind a wait. */
  bool waits_ = false;
};

}  // namespace

LoadedRows load_rows(const LoadContext& device, const std::vector<ChosenRow>& rows, const StandInAddresses& standIns,
                     const CompileOptions& options) {
  return Loader(device, rows, standIns, options).load();
}

}  // namespace vd::cuda
