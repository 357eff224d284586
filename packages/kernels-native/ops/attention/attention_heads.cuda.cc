#include <algorithm>
#include <cstddef>
#include <string>

#include "attention_plans.h"

namespace vd {

namespace {

using namespace device;

constexpr uint64_t kAlignment = 256;
constexpr uint32_t kWarps = 8;

uint32_t side_offset(size_t side, size_t member) {
  return static_cast<uint32_t>(offsetof(AttentionHeadsParams, sides) + side * sizeof(AttentionHeadsSide) + member);
}

}  // namespace

HeadsStage::HeadsStage(const AttentionArgs& args) : args_(args) {
  const auto add = [this](const Tensor& x, const Tensor& norm, const Tensor& rotary, bool isQueries) {
    if (!norm.present() && !rotary.present()) return;
    sides_.push_back({x, norm, rotary, bytes_, isQueries});
    bytes_ += cuda::round_up(static_cast<uint64_t>(x.count()) * bytes_of(x.dtype), kAlignment);
  };
  add(args.q, args.normQ, args.rotaryQ, true);
  add(args.k, args.normK, args.rotaryK, false);
}

AttentionArgs HeadsStage::staged() const {
  AttentionArgs a = args_;
  for (const Side& side : sides_) {
    Tensor& t = side.isQueries ? a.q : a.k;
    t.data = reinterpret_cast<void*>(uintptr_t{kAlignment});
    t.pitch = t.channels();
  }
  return a;
}

void HeadsStage::add_to(cuda::Variant& variant) const {
  if (sides_.empty()) return;
  for (cuda::Launch& launch : variant.launches) {
    for (const Side& side : sides_) {
      const cuda::Address place = cuda::Address::workspace(side.offset);
      if (launch.maps.empty()) {
        const size_t view = side.isQueries ? offsetof(AttentionMmaParams, q) : offsetof(AttentionMmaParams, k);
        launch.relocations.push_back({static_cast<uint32_t>(view + offsetof(AttentionView, data)), place});
      }
      const size_t map = side.isQueries ? offsetof(AttentionSm90Params, q) : offsetof(AttentionSm90Params, k);
      for (cuda::TensorMapRequest& request : launch.maps)
        if (request.paramOffset == map) request.base = place;
    }
  }
  AttentionHeadsParams p{};
  p.heads = static_cast<int32_t>(args_.heads);
  p.dim = static_cast<int32_t>(args_.q.channels() / args_.heads);
  p.adjacent = args_.pairs == RotaryPairs::adjacent;
  p.eps = args_.normEps;
  cuda::Launch launch;
  launch.symbol = "attention_heads_" + cuda::type_name(args_.q.dtype);
  launch.block = 32 * kWarps;
  const bool time = args_.axis == AttentionAxis::time;
  int64_t most = 0;
  for (size_t i = 0; i < sides_.size(); ++i) {
    const Side& side = sides_[i];
    AttentionHeadsSide& s = p.sides[i];
    s.x = side.x.data;
    s.norm = side.norm.data;
    s.normType = static_cast<int32_t>(side.norm.dtype);
    s.rotary = side.rotary.as<float>();
    s.rotaryPitch = side.rotary.pitch;
    s.numPairs = side.rotary.present() ? static_cast<int32_t>(side.rotary.channels() / 2) : 0;
    s.rows = side.x.pixels();
    s.pitch = side.x.pitch;
    s.numPlaces = static_cast<int32_t>(side.x.dim(time ? 1 : 2));
    s.placeStep = time ? static_cast<int32_t>(side.x.dim(2)) : 1;
    most = std::max(most, s.rows);
    launch.relocations.push_back({side_offset(i, offsetof(AttentionHeadsSide, out)), cuda::Address::workspace(side.offset)});
  }
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(most * args_.heads, kWarps));
  launch.grid[1] = static_cast<uint32_t>(sides_.size());
  launch.set_params(p);
  variant.workspaceBytes = static_cast<size_t>(bytes_);
  variant.launches.insert(variant.launches.begin(), std::move(launch));
}

}  // namespace vd
