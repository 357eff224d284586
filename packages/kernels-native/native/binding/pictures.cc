#include "pictures.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/kept_memory.h"
#include "../cpu/pictures.h"
#include "arguments.h"
#include "async.h"
#include "external.h"
#include "read_target.h"
#include "shared_bytes.h"

namespace vd::binding {
namespace {

using cpu::Levels;
using cpu::Normalisation;
using cpu::PictureSize;
using cpu::PictureThreads;
using cpu::PixelRuns;
using cpu::PixelTaps;

/** Pixels of a side, and samples of a result along one. No product of two sides overflows. */
constexpr size_t kMostSide = size_t{1} << 24;
/** Elements of a typed array at most. */
constexpr size_t kMostElements = 4294967295;
constexpr size_t kNumLevels = 256;
constexpr double kMostThreads = 256;

bool has_type(const Napi::Value& value, napi_typedarray_type type) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type;
}

template <class T> constexpr napi_typedarray_type kArrayType = napi_float32_array;
template <> constexpr napi_typedarray_type kArrayType<int32_t> = napi_int32_array;
template <> constexpr napi_typedarray_type kArrayType<double> = napi_float64_array;

/** A copy of a typed array. expected: which one, in words. */
template <class T> std::vector<T> read_numbers(const Napi::Value& value, const std::string& where, const char* expected) {
  if (!has_type(value, kArrayType<T>)) wrong_type(where.c_str(), expected, value);
  const auto bytes = read_bytes(value, where.c_str());
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

/** Bytes that stay as they are while a worker reads them: shared memory itself, which nobody can take away, or a copy. */
struct Pixels {
  SharedBytes shared;
  std::shared_ptr<std::byte[]> copy;
  size_t bytes = 0;
  const std::byte* data() const { return copy ? copy.get() : shared.bytes.data(); }
};

/** value: a typed array. */
Pixels read_pixels(const Napi::Value& value, const char* where) {
  const auto bytes = read_bytes(value, where);
  Pixels pixels;
  pixels.bytes = bytes.size();
  if (SharedBytes::has(value)) {
    pixels.shared = SharedBytes::of(value, where);
  } else if (!bytes.empty()) {
    // In memory that was used before: the event loop waits for this copy, which new pages make five times as long.
    pixels.copy = borrow_memory(bytes.size());
    std::memcpy(pixels.copy.get(), bytes.data(), bytes.size());
  }
  return pixels;
}

void check_count(size_t has, size_t wanted, const std::string& where) {
  if (has == wanted) return;
  throw Error(ErrorCode::shape, where, std::to_string(wanted) + " numbers", std::to_string(has));
}

/** width, height: arguments. */
PictureSize read_picture_size(const Napi::Value& width, const Napi::Value& height, const std::string& where) {
  const auto side = [&](const Napi::Value& value, const char* name) {
    const size_t pixels = read_size(value, (where + name).c_str(), static_cast<double>(kMostSide));
    if (pixels == 0) throw Error(ErrorCode::attr, where + name, "at least 1 pixel", "0");
    return pixels;
  };
  return {side(width, " width"), side(height, " height")};
}

/** Along an axis: what a result has, and that it is possible. */
void check_side(size_t size, const std::string& where) {
  if (size > 0 && size <= kMostSide) return;
  throw Error(ErrorCode::shape, where, "1 to " + std::to_string(kMostSide) + " numbers", std::to_string(size));
}

/** [from, from + count) lies inside a line. */
void check_run(int64_t from, int64_t count, size_t sourceSize, const std::string& where) {
  if (from >= 0 && count >= 0 && from + count <= static_cast<int64_t>(sourceSize)) return;
  throw Error(ErrorCode::layout, where, "samples of a line of " + std::to_string(sourceSize),
              std::to_string(count) + " from sample " + std::to_string(from) + " on");
}

/** Arguments `at` to `at + 2`; none where all are undefined. */
std::shared_ptr<PixelTaps> read_taps(const Napi::CallbackInfo& info, size_t at, size_t sourceSize, const std::string& where) {
  if (info[at].IsUndefined() && info[at + 1].IsUndefined() && info[at + 2].IsUndefined()) return nullptr;
  auto taps = std::make_shared<PixelTaps>();
  taps->starts = read_numbers<int32_t>(info[at], where + " starts", "an Int32Array");
  taps->counts = read_numbers<int32_t>(info[at + 1], where + " counts", "an Int32Array");
  taps->weights = read_numbers<int32_t>(info[at + 2], where + " weights", "an Int32Array");
  check_side(taps->size(), where + " starts");
  check_count(taps->counts.size(), taps->size(), where + " counts");
  if (taps->weights.size() % taps->size() != 0)
    throw Error(ErrorCode::shape, where + " weights", "equally many for each of " + std::to_string(taps->size()) + " results",
                std::to_string(taps->weights.size()));
  for (size_t i = 0; i < taps->size(); ++i) {
    check_run(taps->starts[i], taps->counts[i], sourceSize, where);
    if (static_cast<size_t>(taps->counts[i]) > taps->room())
      throw Error(ErrorCode::shape, where + " counts", std::to_string(taps->room()) + " at most", std::to_string(taps->counts[i]));
  }
  return taps;
}

/** Arguments `at` to `at + 2`. */
PixelRuns read_runs(const Napi::CallbackInfo& info, size_t at, size_t sourceSize, const std::string& where) {
  PixelRuns runs;
  runs.first = read_numbers<int32_t>(info[at], where + " first", "an Int32Array");
  runs.length = read_size(info[at + 1], (where + " length").c_str(), static_cast<double>(kMostSide));
  runs.weights = read_numbers<double>(info[at + 2], where + " weights", "a Float64Array");
  check_side(runs.size(), where + " first");
  check_count(runs.weights.size(), runs.size() * runs.length, where + " weights");
  for (const int32_t first : runs.first) check_run(first, static_cast<int64_t>(runs.length), sourceSize, where);
  return runs;
}

Levels read_levels(const Napi::Value& value, const char* where) {
  Levels levels = read_numbers<float>(value, where, "a Float32Array");
  check_count(levels.size(), kNumLevels, where);
  return levels;
}

/** mean, spread: arguments; both are undefined where nothing is normalised. */
std::optional<Normalisation> read_normalisation(const Napi::Value& mean, const Napi::Value& spread, const std::string& where) {
  if (mean.IsUndefined() && spread.IsUndefined()) return std::nullopt;
  const auto channels = [](const Napi::Value& value, const std::string& name) {
    const std::vector<float> numbers = read_numbers<float>(value, name, "a Float32Array");
    check_count(numbers.size(), 3, name);
    return std::array{numbers[0], numbers[1], numbers[2]};
  };
  return Normalisation{channels(mean, where + " mean"), channels(spread, where + " spread")};
}

PictureThreads read_threads(const Napi::Value& value, const char* where) {
  return {static_cast<int>(read_size(value, where, kMostThreads))};
}

/** Numbers of [rows,columns,3], which a typed array can hold. */
size_t result_numbers(size_t rows, size_t columns, const char* where) {
  const size_t numbers = rows * columns * 3;
  if (numbers > kMostElements)
    throw Error(ErrorCode::shape, where, std::to_string(kMostElements) + " numbers at most", std::to_string(numbers));
  return numbers;
}

const uint8_t* bytes_of(const Pixels& pixels) { return reinterpret_cast<const uint8_t*>(pixels.data()); }
const float* floats_of(const Pixels& pixels) { return reinterpret_cast<const float*>(pixels.data()); }

bool overlap(const std::byte* a, size_t aBytes, const std::byte* b, size_t bBytes) { return a < b + bBytes && b < a + aBytes; }

/** Where planes go that may be added to what is there. */
struct PlaneTarget {
  /** None for a new array. */
  ReadTarget into;
  /** What an array holds that a worker cannot add to in place. */
  std::shared_ptr<Pages> before;
  bool adds = false;
};

/** into, adds: arguments; pixels: what is read meanwhile. */
PlaneTarget read_plane_target(const Napi::Value& into, const Napi::Value& adds, const Pixels& pixels) {
  PlaneTarget target;
  target.adds = read_bool(adds, "pictureToPlanes adds");
  if (into.IsUndefined()) {
    if (target.adds) throw Error(ErrorCode::attr, "pictureToPlanes into", "an array to add to", "none");
    return target;
  }
  target.into = ReadTarget::of_floats(into, pixels.bytes, "pictureToPlanes into");
  if (target.into.place) {
    if (overlap(static_cast<const std::byte*>(target.into.place), target.into.bytes, pixels.data(), pixels.bytes))
      throw Error(ErrorCode::layout, "pictureToPlanes into", "memory of its own", "memory of the pixels");
  } else if (target.adds) {
    const auto bytes = read_bytes(into, "pictureToPlanes into");
    target.before = std::make_shared<Pages>(bytes.size());
    std::memcpy(target.before->data(), bytes.data(), bytes.size());
  }
  return target;
}

}  // namespace

Napi::Value resize_picture(const Napi::CallbackInfo& info) {
  if (!has_type(info[0], napi_uint8_array)) wrong_type("resizePicture pixels", "a Uint8Array", info[0]);
  const PictureSize size = read_picture_size(info[1], info[2], "resizePicture");
  const auto x = read_taps(info, 3, size.width, "resizePicture x");
  const auto y = read_taps(info, 6, size.height, "resizePicture y");
  const PictureThreads threads = read_threads(info[9], "resizePicture threads");
  check_count(read_bytes(info[0], "resizePicture pixels").size(), size.width * size.height * 3, "resizePicture pixels");
  const size_t bytes = result_numbers(y ? y->size() : size.height, x ? x->size() : size.width, "resizePicture result");
  auto work = [pixels = read_pixels(info[0], "resizePicture pixels"), size, x, y, bytes, threads] {
    auto pages = std::make_shared<Pages>(bytes);
    cpu::resize_picture(bytes_of(pixels), size, x.get(), y.get(), static_cast<uint8_t*>(pages->data()), threads);
    return pages;
  };
  return PromiseWorker<std::shared_ptr<Pages>>::start(info.Env(), std::move(work), bytes_to_js);
}

Napi::Value resample_picture(const Napi::CallbackInfo& info) {
  const bool isFloat = is_float32_array(info[0]);
  if (!isFloat && !has_type(info[0], napi_uint8_array)) wrong_type("resamplePicture pixels", "a Uint8Array or Float32Array", info[0]);
  const PictureSize size = read_picture_size(info[1], info[2], "resamplePicture");
  const Levels levels = isFloat ? Levels{} : read_levels(info[3], "resamplePicture levels");
  auto x = std::make_shared<PixelRuns>(read_runs(info, 4, size.width, "resamplePicture x"));
  auto y = std::make_shared<PixelRuns>(read_runs(info, 7, size.height, "resamplePicture y"));
  const auto normalisation = read_normalisation(info[10], info[11], "resamplePicture");
  const PictureThreads threads = read_threads(info[12], "resamplePicture threads");
  const size_t itemBytes = isFloat ? sizeof(float) : 1;
  check_count(read_bytes(info[0], "resamplePicture pixels").size() / itemBytes, size.width * size.height * 3, "resamplePicture pixels");
  const size_t numbers = result_numbers(y->size(), x->size(), "resamplePicture result");
  auto work = [pixels = read_pixels(info[0], "resamplePicture pixels"), isFloat, size, levels, x, y, normalisation, numbers, threads] {
    auto pages = std::make_shared<Pages>(numbers * sizeof(float));
    auto* result = static_cast<float*>(pages->data());
    const Normalisation* const normal = normalisation ? &*normalisation : nullptr;
    if (isFloat) cpu::resample_planes(floats_of(pixels), size, *x, *y, normal, result, threads);
    else cpu::resample_bytes(bytes_of(pixels), size, levels, *x, *y, normal, result, threads);
    return pages;
  };
  return PromiseWorker<std::shared_ptr<Pages>>::start(info.Env(), std::move(work), floats_to_js);
}

Napi::Value picture_to_planes(const Napi::CallbackInfo& info) {
  if (!has_type(info[0], napi_uint8_array)) wrong_type("pictureToPlanes pixels", "a Uint8Array", info[0]);
  const Levels levels = read_levels(info[1], "pictureToPlanes levels");
  const PictureThreads threads = read_threads(info[4], "pictureToPlanes threads");
  const Pixels pixels = read_pixels(info[0], "pictureToPlanes pixels");
  if (pixels.bytes == 0 || pixels.bytes % 3 != 0)
    throw Error(ErrorCode::shape, "pictureToPlanes pixels", "pixels of 3 bytes", std::to_string(pixels.bytes) + " bytes");
  const PlaneTarget target = read_plane_target(info[2], info[3], pixels);
  auto work = [pixels, levels, target, threads]() -> std::shared_ptr<Pages> {
    void* const place = target.into.place;
    auto pages = place ? nullptr : target.before ? target.before : std::make_shared<Pages>(pixels.bytes * sizeof(float));
    auto* planes = static_cast<float*>(place ? place : pages->data());
    cpu::bytes_to_planes(bytes_of(pixels), pixels.bytes / 3, levels, target.adds, planes, threads);
    return pages;
  };
  const auto finish = [into = target.into](Napi::Env env, std::shared_ptr<Pages>& pages) -> Napi::Value {
    if (!into.array) return floats_to_js(env, pages);
    if (pages) into.fill(*pages);
    return into.array->Value();
  };
  return PromiseWorker<std::shared_ptr<Pages>>::start(info.Env(), std::move(work), finish);
}

}  // namespace vd::binding
