// layer_norm_linear on the CPU: the fast paths of the two ops that it stands for, some tokens at a time, so that the normalised ones are
// still in a cache when they are multiplied.
#include <algorithm>
#include <utility>
#include <vector>

#include "../../../native/core/normed_linear.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {
namespace {

/** Bytes of normalised tokens that are made at a time: those of 1638 tokens of 320 channels, which give workers enough tasks and stay in
 *  the caches of two or more cores. */
constexpr int64_t kChunkBytes = int64_t{2} << 20;
/** Fewer tokens would leave workers without tasks, and products take other ways for fewer than eight. */
constexpr int64_t kLeastTokens = 64;

/** A part of [B,F,S,·]: whole clips, whole frames of one clip, or tokens of one frame, so that its pixels follow each other. */
struct Part {
  int64_t first[3];
  int64_t count[3];
};

/** Parts of about equal size of at most `most` pixels. */
std::vector<Part> parts_of(const Tensor& x, int64_t most) {
  const int64_t B = x.dim(0), F = x.dim(1), S = x.dim(2);
  const int64_t inside[3] = {F * S, S, 1};
  // The outermost dimension whose steps are small enough is cut, those before it are gone through one by one.
  const int axis = inside[0] <= most ? 0 : inside[1] <= most ? 1 : 2;
  const int64_t size = x.dim(axis), perPart = std::max<int64_t>(1, most / std::max<int64_t>(1, inside[axis]));
  const int64_t pieces = (size + perPart - 1) / perPart;
  std::vector<Part> parts;
  const int64_t clips = axis > 0 ? B : 1, frames = axis > 1 ? F : 1;
  for (int64_t clip = 0; clip < clips; ++clip)
    for (int64_t frame = 0; frame < frames; ++frame)
      for (int64_t piece = 0; piece < pieces; ++piece) {
        Part part{{clip, frame, 0}, {axis > 0 ? 1 : B, axis > 1 ? 1 : F, S}};
        part.first[axis] = piece * size / pieces;
        part.count[axis] = (piece + 1) * size / pieces - part.first[axis];
        parts.push_back(part);
      }
  return parts;
}

/** The part of an operand [B,F,S,·] or [1|B,1|F,·]; absent stays absent. */
Tensor part_of(const Tensor& t, const Part& part) {
  if (!t.present()) return t;
  Tensor cut = t;
  int64_t pixel = 0;
  for (int i = 0; i + 1 < t.rank; ++i) {
    const bool repeats = t.dim(i) == 1;
    pixel = pixel * t.dim(i) + (repeats ? 0 : part.first[i]);
    if (!repeats) cut.dims[i] = part.count[i];
  }
  cut.data = t.as<std::byte>() + pixel * t.pitch * bytes_of(t.dtype);
  return cut;
}

/** The call for a part of its tokens. */
LayerNormLinearArgs part_of(const LayerNormLinearArgs& args, const Part& part) {
  LayerNormLinearArgs cut = args;
  for (Tensor LayerNormLinearArgs::* operand : {&LayerNormLinearArgs::x, &LayerNormLinearArgs::frameBias, &LayerNormLinearArgs::residual,
                                                &LayerNormLinearArgs::residual2, &LayerNormLinearArgs::y})
    cut.*operand = part_of(args.*operand, part);
  return cut;
}

class LayerNormLinear final : public PreparedRow {
 public:
  explicit LayerNormLinear(int64_t count) : normed_(static_cast<size_t>(count)) {}

  float* normed() { return normed_.data(); }
  void add(std::unique_ptr<PreparedRow> norm, std::unique_ptr<PreparedRow> product) {
    rows_.push_back(std::move(norm));
    rows_.push_back(std::move(product));
  }

  const char* name() const override { return rows_.back()->name(); }
  size_t scratch_bytes() const override {
    return most([](const PreparedRow& row) { return row.scratch_bytes(); });
  }
  size_t shared_bytes() const override {
    return most([](const PreparedRow& row) { return row.shared_bytes(); });
  }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    for (const auto& row : rows_) row->run(pool, scratch);
  }

 private:
  template <class Bytes> size_t most(const Bytes& bytes) const {
    size_t found = 0;
    for (const auto& row : rows_) found = std::max(found, bytes(*row));
    return found;
  }

  std::vector<float> normed_;
  /** Of each part the norm, then the product. */
  std::vector<std::unique_ptr<PreparedRow>> rows_;
};

}  // namespace

/** Declines where linear or layer_norm does. */
std::unique_ptr<PreparedRow> prepare_layer_norm_linear(const LayerNormLinearArgs& args, PackCache& cache, const Target& target) {
  const int64_t channels = args.x.channels();
  const int64_t most = std::max(kLeastTokens, kChunkBytes / (channels * int64_t{sizeof(float)}));
  auto row = std::make_unique<LayerNormLinear>(std::min(most, args.x.pixels()) * channels);
  for (const Part& part : parts_of(args.x, most)) {
    const LayerNormLinearArgs cut = part_of(args, part);
    const Tensor tokens = normed_tokens(cut, row->normed(), DType::f32);
    auto norm = prepare_layer_norm(as_layer_norm(cut, tokens), cache, target);
    auto product = prepare_linear(as_linear(cut, tokens), cache, target);
    if (!norm || !product) return nullptr;
    row->add(std::move(norm), std::move(product));
  }
  return row;
}

}  // namespace vd::cpu
