#include "normals.h"

#include <algorithm>
#include <mutex>

#include "../core/half.h"
#include "../core/os_memory.h"
#include "../core/processors.h"
#include "../core/share_out.h"

namespace vd::cpu {
namespace {

/** Numbers that a thread draws and transforms at a time, in its own cache: whole blocks. */
constexpr size_t kPart = 1 << 14;
/** Numbers that take several times the start of a thread. */
constexpr size_t kWorthAThread = 1 << 15;
constexpr size_t kMostThreads = 8;

float same(float value) { return value; }
float to_bfloat16(float value) { return bfloat16_to_float(float_to_bfloat16(value)); }

template <float (*kRound)(float)> void shape_values(float* values, size_t count, const NormalShape& shape) {
  if (shape.mean == nullptr) {
    for (size_t i = 0; i < count; ++i) values[i] = kRound(kRound(values[i]) * shape.scale);
  } else {
    for (size_t i = 0; i < count; ++i) values[i] = kRound(shape.mean[i] + kRound(kRound(values[i]) * shape.scale));
  }
}

void shape_normals(const NormalKernels& kernels, float* values, size_t count, const NormalShape& shape) {
  if (shape.dtype == DType::f16) return kernels.shape_halves(values, static_cast<int64_t>(count), shape.scale, shape.mean);
  if (shape.dtype == DType::bf16) return shape_values<to_bfloat16>(values, count, shape);
  if (shape.scale != 1 || shape.mean != nullptr) shape_values<same>(values, count, shape);
}

NormalShape part_of(const NormalShape& shape, size_t begin) {
  return {shape.scale, shape.mean == nullptr ? nullptr : shape.mean + begin, shape.dtype};
}

/** Fills whole blocks. */
void fill_blocks(MersenneTwister& engine, const NormalKernels& kernels, float* values, size_t count, const NormalShape& shape) {
  engine.uniforms(kernels, values, count);
  kernels.box_muller(values, static_cast<int64_t>(count / kNormalBlock));
  shape_normals(kernels, values, count, shape);
}

int threads_for(size_t count) {
  const size_t most = std::min(static_cast<size_t>(usable_processors()), kMostThreads);
  return static_cast<int>(std::clamp<size_t>(count / kWorthAThread, 1, most));
}

/** Hands out numbers in parts, each with an engine that draws it. To skip a part's words takes a fraction of what is to be done with them,
 *  so that threads hardly wait for each other. */
class Parts {
 public:
  struct Part {
    MersenneTwister engine;
    size_t begin, size;
  };

  /** Of `count` numbers; `engine` goes on part by part. */
  Parts(MersenneTwister& engine, const NormalKernels& kernels, size_t count) : engine_(engine), kernels_(kernels), count_(count) {}

  int64_t number() const { return static_cast<int64_t>((count_ + kPart - 1) / kPart); }

  /** Returns the next part: `number` times in all, on any thread. */
  Part take() {
    const std::lock_guard lock(mutex_);
    const Part part{engine_, next_, std::min(kPart, count_ - next_)};
    next_ += part.size;
    engine_.skip(kernels_, part.size);
    return part;
  }

 private:
  std::mutex mutex_;
  MersenneTwister& engine_;
  const NormalKernels& kernels_;
  const size_t count_;
  size_t next_ = 0;
};

}  // namespace

/** Returns how many of the next `most` draws the words have, and makes new words where that would be none. */
size_t MersenneTwister::ready(const NormalKernels& kernels, size_t most) {
  if (next == kWords) {
    kernels.twist(words);
    next = 0;
  }
  return std::min(most, kWords - next);
}

void MersenneTwister::draws(const NormalKernels& kernels, uint32_t* values) {
  ready(kernels, 1);
  kernels.temper(words, values, kWords);
}

void MersenneTwister::uniforms(const NormalKernels& kernels, float* values, size_t count) {
  for (size_t at = 0, part; at < count; at += part, next += part) {
    part = ready(kernels, count - at);
    kernels.uniforms(words + next, values + at, static_cast<int64_t>(part));
  }
}

void MersenneTwister::skip(const NormalKernels& kernels, size_t count) {
  for (size_t at = 0, part; at < count; at += part, next += part) part = ready(kernels, count - at);
}

void fill_normals(MersenneTwister& engine, float* values, size_t count, const NormalShape& shape, Isa isa) {
  const NormalKernels& kernels = normal_kernels_of(isa);
  const size_t ragged = count % kNormalBlock;
  // New memory comes page by page as it is filled, which would take about as long as the numbers.
  os::prefer_huge_pages(values, count * sizeof(float));
  Parts parts(engine, kernels, count - ragged);
  share_out(parts.number(), threads_for(count), [&](int64_t) {
    Parts::Part part = parts.take();
    fill_blocks(part.engine, kernels, values + part.begin, part.size, part_of(shape, part.begin));
  });
  if (ragged == 0) return;
  // A ragged end is drawn anew, over the last block.
  engine.skip(kernels, ragged);
  const size_t last = count - kNormalBlock;
  fill_blocks(engine, kernels, values + last, kNormalBlock, part_of(shape, last));
}

}  // namespace vd::cpu
