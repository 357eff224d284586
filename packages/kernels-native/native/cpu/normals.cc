#include "normals.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "../core/half.h"
#include "../core/thread_pool.h"

namespace vd::cpu {
namespace {

/** Numbers that a thread transforms at a time: whole blocks. */
constexpr size_t kPart = 1 << 15;
/** Drawing them is left to one thread, so more of these would wait for it. */
constexpr int kMostThreads = 4;

/** How far from a word the one lies that it is mixed with. */
constexpr size_t kShift = 397;

constexpr uint32_t mixed(uint32_t high, uint32_t low, uint32_t far) {
  const uint32_t word = (high & 0x80000000u) | (low & 0x7fffffffu);
  return far ^ (word >> 1) ^ ((0u - (word & 1u)) & 0x9908b0dfu);
}

constexpr uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

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

}  // namespace

void MersenneTwister::twist() {
  // In three parts, so that no word depends on one of its own part: compilers then take several at a time.
  constexpr size_t kFirst = kWords - kShift, kSecond = 2 * kFirst;
  for (size_t i = 0; i < kFirst; ++i) words[i] = mixed(words[i], words[i + 1], words[i + kShift]);
  for (size_t i = kFirst; i < kSecond; ++i) words[i] = mixed(words[i], words[i + 1], words[i - kFirst]);
  for (size_t i = kSecond; i < kWords - 1; ++i) words[i] = mixed(words[i], words[i + 1], words[i - kFirst]);
  words[kWords - 1] = mixed(words[kWords - 1], words[0], words[kShift - 1]);
  next = 0;
}

void MersenneTwister::draws(uint32_t* values) {
  if (next == kWords) twist();
  for (size_t i = 0; i < kWords; ++i) values[i] = tempered(words[i]);
}

void MersenneTwister::uniforms(float* values, size_t count) {
  for (size_t at = 0; at < count;) {
    if (next == kWords) twist();
    const size_t part = count - at < kWords - next ? count - at : kWords - next;
    for (size_t i = 0; i < part; ++i)
      values[at + i] = static_cast<float>(static_cast<int32_t>(tempered(words[next + i]) & 0xffffffu)) * 0x1p-24f;
    at += part;
    next += part;
  }
}

namespace {

/** Calls part(begin, end) for all of [0, count), on as many threads as there are for so many numbers. */
template <class Part> void in_parts(size_t count, const Part& part) {
  const size_t parts = (count + kPart - 1) / kPart;
  const auto run = [&](size_t i) { part(i * kPart, std::min(count, (i + 1) * kPart)); };
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int threads = static_cast<int>(std::min<size_t>(parts, std::clamp(processors, 1, kMostThreads)));
  try {
    if (threads > 1) return ThreadPool(threads).parallel_for(static_cast<int64_t>(parts), [&](int64_t i, int) { run(i); });
  } catch (const std::system_error&) {
    // The system has no threads left, and none of the parts was begun.
  }
  for (size_t i = 0; i < parts; ++i) run(i);
}

NormalShape part_of(const NormalShape& shape, size_t begin) {
  return {shape.scale, shape.mean == nullptr ? nullptr : shape.mean + begin, shape.dtype};
}

}  // namespace

void fill_normals(MersenneTwister& engine, float* values, size_t count, const NormalShape& shape, Isa isa) {
  const NormalKernels& kernels = normal_kernels_of(isa);
  engine.uniforms(values, count);
  if (count % kNormalBlock == 0) {
    in_parts(count, [&](size_t begin, size_t end) {
      kernels.box_muller(values + begin, static_cast<int64_t>((end - begin) / kNormalBlock));
      shape_normals(kernels, values + begin, end - begin, part_of(shape, begin));
    });
    return;
  }
  in_parts(count,
           [&](size_t begin, size_t end) { kernels.box_muller(values + begin, static_cast<int64_t>((end - begin) / kNormalBlock)); });
  // A ragged end is drawn anew, over the last block.
  float* last = values + (count - kNormalBlock);
  engine.uniforms(last, kNormalBlock);
  kernels.box_muller(last, 1);
  in_parts(count, [&](size_t begin, size_t end) { shape_normals(kernels, values + begin, end - begin, part_of(shape, begin)); });
}

}  // namespace vd::cpu
