#include "buffer.h"

#include <cstring>
#include <utility>
#include <vector>

#include "../core/float_element.h"
#include "../cpu/host_floats.h"
#include "addon_data.h"
#include "arguments.h"
#include "async.h"
#include "external.h"
#include "janitor.h"
#include "read_target.h"
#include "shared_bytes.h"
#include "wrap.h"

namespace vd::binding {
namespace {

/** [offset, offset + bytes) lies inside `memory`. */
void check_range(const Memory& memory, size_t offset, size_t bytes, const char* where) {
  if (offset > memory.bytes() || bytes > memory.bytes() - offset)
    throw Error(ErrorCode::layout, where, "a range inside the buffer's " + std::to_string(memory.bytes()) + " bytes",
                std::to_string(bytes) + " bytes at offset " + std::to_string(offset));
}

/** Elements of a region of floats: more than any device holds, and no product of two overflows. */
constexpr double kMaxFloats = 1ull << 40;

/** A float view of `region` lies inside `memory`. */
void check_region(const Memory& memory, const cpu::FloatRegion& region) {
  if (region.pixels == 0 || region.channels == 0 || region.pitch < region.channels || !is_float(region.dtype))
    throw Error(ErrorCode::layout, "readFloats", "floats of at least one pixel and channel, and a pitch of at least the channels",
                "others");
  if (region.planePixels != 0 && region.pixels % region.planePixels != 0)
    throw Error(ErrorCode::layout, "readFloats", "whole planes of " + std::to_string(region.planePixels) + " pixels",
                std::to_string(region.pixels) + " pixels");
  const double end = static_cast<double>(region.byteOffset) +
                     (static_cast<double>(region.pixels - 1) * static_cast<double>(region.pitch) + static_cast<double>(region.channels)) *
                         bytes_of(region.dtype);
  if (end > static_cast<double>(memory.bytes()))
    throw Error(ErrorCode::layout, "readFloats", "a range inside the buffer's " + std::to_string(memory.bytes()) + " bytes",
                "one that ends at byte " + std::to_string(static_cast<int64_t>(end)));
}

/** Floats that were read, and the index of the first that is not finite, or their number. */
struct FloatsRead {
  /** None where they lie in a target. */
  std::shared_ptr<Pages> pages;
  size_t firstNotFinite = 0;
};

void check_writable(const Memory& memory, const char* where) {
  if (!memory.writable()) throw Error(ErrorCode::layout, where, "a buffer that may be written", "a read-only one");
}

void check_copy(const MemoryCopy& copy, const std::string& where) {
  check_writable(*copy.target, where.c_str());
  check_range(*copy.source, copy.from, copy.bytes, (where + " source").c_str());
  check_range(*copy.target, copy.to, copy.bytes, where.c_str());
}

MemoryCopy read_copy(const Napi::CallbackInfo& info, const std::string& where) {
  MemoryCopy copy;
  copy.target = Buffer::memory_of(info.This(), where.c_str());
  copy.source = Buffer::memory_of(info[0], (where + " source").c_str());
  copy.from = read_size(info[1], (where + " source offset").c_str());
  copy.to = read_size(info[2], (where + " offset").c_str());
  copy.bytes = read_size(info[3], (where + " bytes").c_str());
  check_copy(copy, where);
  return copy;
}

}  // namespace

std::vector<MemoryCopy> read_copies(const Napi::Value& value, const std::string& where) {
  std::vector<MemoryCopy> copies;
  if (value.IsUndefined()) return copies;
  if (!value.IsArray()) wrong_type(where.c_str(), "a list of copies", value);
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::Value each = list[i];
    if (!each.IsObject()) wrong_type(where.c_str(), "a copy", each);
    const auto object = each.As<Napi::Object>();
    MemoryCopy copy;
    copy.target = Buffer::memory_of(object.Get("target"), (where + " target").c_str());
    copy.source = Buffer::memory_of(object.Get("source"), (where + " source").c_str());
    copy.from = read_size(object.Get("from"), (where + " source offset").c_str());
    copy.to = read_size(object.Get("to"), (where + " offset").c_str());
    copy.bytes = read_size(object.Get("bytes"), (where + " bytes").c_str());
    check_copy(copy, where);
    copies.push_back(std::move(copy));
  }
  return copies;
}

Napi::Function Buffer::define(Napi::Env env) {
  return DefineClass(env, "NativeBuffer",
                     {getter<&Buffer::bytes>("bytes"), getter<&Buffer::writable>("writable"), method<&Buffer::write_sync>("writeSync"),
                      method<&Buffer::write>("write"), method<&Buffer::write_floats>("writeFloats"), method<&Buffer::read_sync>("readSync"),
                      method<&Buffer::read_floats>("readFloats"), method<&Buffer::read_bytes>("readBytes"),
                      method<&Buffer::copy_from_sync>("copyFromSync"), method<&Buffer::copy_from>("copyFrom"),
                      method<&Buffer::fill_sync>("fillSync"), method<&Buffer::free_sync>("freeSync"), method<&Buffer::free>("free")});
}

Napi::Object Buffer::make(Napi::Env env, std::shared_ptr<Memory> memory) {
  auto* data = env.GetInstanceData<AddonData>();
  data->newMemory = std::move(memory);
  return data->buffer.New({});
}

Buffer::Buffer(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Buffer>(info) {
  guarded(info.Env(), [&] {
    auto* data = info.Env().GetInstanceData<AddonData>();
    janitor_ = data->janitor;
    memory_ = std::exchange(data->newMemory, nullptr);
    if (!memory_) throw Error(ErrorCode::attr, "NativeBuffer", "allocateBuffer or mapFile", "a call of the constructor");
    napi_type_tag_object(info.Env(), info.This(), &kBufferTag);
  });
}

Buffer::~Buffer() {
  if (memory_) janitor_->take(std::move(memory_));
}

std::shared_ptr<Memory> Buffer::memory_of(const Napi::Value& value, const char* where) {
  if (!has_tag(value, kBufferTag)) wrong_type(where, "a NativeBuffer", value);
  auto memory = Unwrap(value.As<Napi::Object>())->memory_;
  if (!memory) throw Error(ErrorCode::layout, where, "a living buffer", "one that was freed");
  return memory;
}

Napi::Value Buffer::bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(memory_of(info.This(), "bytes")->bytes()));
}

Napi::Value Buffer::writable(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), memory_of(info.This(), "writable")->writable());
}

Napi::Value Buffer::write_sync(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "writeSync");
  const size_t offset = read_size(info[1], "writeSync offset");
  const auto source = binding::read_bytes(info[0], "writeSync source");
  check_writable(*memory, "writeSync");
  check_range(*memory, offset, source.size(), "writeSync");
  memory->write(offset, source.data(), source.size());
  return info.Env().Undefined();
}

/** Shared memory is read in place. Other bytes are copied first: JavaScript may take them away before the worker begins. */
Napi::Value Buffer::write(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "write");
  const size_t offset = read_size(info[1], "write offset");
  const auto source = binding::read_bytes(info[0], "write source");
  check_writable(*memory, "write");
  check_range(*memory, offset, source.size(), "write");
  const auto finish = [](Napi::Env env, bool&) { return env.Undefined(); };
  if (SharedBytes::has(info[0])) {
    auto work = [memory, offset, shared = SharedBytes::of(info[0], "write source")] {
      memory->write(offset, shared.bytes.data(), shared.bytes.size());
      return true;
    };
    return PromiseWorker<bool>::start(info.Env(), std::move(work), finish);
  }
  auto work = [memory, offset, bytes = std::vector<std::byte>(source.begin(), source.end())] {
    memory->write(offset, bytes.data(), bytes.size());
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), finish);
}

/** As write: shared memory is read in place, other floats are copied first. */
Napi::Value Buffer::write_floats(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "writeFloats");
  if (!is_float32_array(info[0])) wrong_type("writeFloats source", "a Float32Array", info[0]);
  const auto source = binding::read_bytes(info[0], "writeFloats source");
  const auto dtype = static_cast<DType>(read_size(info[1], "writeFloats dtype", kNumDTypes - 1));
  if (!is_float(dtype)) throw Error(ErrorCode::dtype, "writeFloats dtype", "f32, f16 or bf16", kDTypeNames[static_cast<int>(dtype)]);
  const size_t offset = read_size(info[2], "writeFloats offset");
  const size_t count = source.size() / sizeof(float);
  check_writable(*memory, "writeFloats");
  check_range(*memory, offset, count * static_cast<size_t>(bytes_of(dtype)), "writeFloats");
  const auto finish = [](Napi::Env env, float& largest) { return Napi::Number::New(env, largest); };
  if (SharedBytes::has(info[0])) {
    auto work = [memory, offset, dtype, count, shared = SharedBytes::of(info[0], "writeFloats source")] {
      return cpu::write_floats(*memory, offset, dtype, reinterpret_cast<const float*>(shared.bytes.data()), count);
    };
    return PromiseWorker<float>::start(info.Env(), std::move(work), finish);
  }
  // Without zeros first: the event loop waits for this copy.
  const std::shared_ptr<float[]> values(new float[count]);
  if (count > 0) std::memcpy(values.get(), source.data(), source.size());
  auto work = [memory, offset, dtype, values, count] { return cpu::write_floats(*memory, offset, dtype, values.get(), count); };
  return PromiseWorker<float>::start(info.Env(), std::move(work), finish);
}

Napi::Value Buffer::read_sync(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "readSync");
  const size_t offset = read_size(info[1], "readSync offset");
  const auto target = binding::read_bytes(info[0], "readSync target");
  check_range(*memory, offset, target.size(), "readSync");
  memory->read(offset, target.data(), target.size());
  return info.Env().Undefined();
}

Napi::Value Buffer::read_floats(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "readFloats");
  cpu::FloatRegion region;
  region.byteOffset = read_size(info[0], "readFloats offset");
  region.dtype = static_cast<DType>(read_size(info[1], "readFloats dtype", kNumDTypes - 1));
  region.pixels = read_size(info[2], "readFloats pixels", kMaxFloats);
  region.channels = read_size(info[3], "readFloats channels", kMaxFloats);
  region.pitch = read_size(info[4], "readFloats pitch", kMaxFloats);
  region.planePixels = read_size(info[5], "readFloats planePixels", kMaxFloats);
  check_region(*memory, region);
  const size_t count = region.pixels * region.channels;
  const ReadTarget target = info[6].IsUndefined() ? ReadTarget{} : ReadTarget::of_floats(info[6], count, "readFloats into");
  auto work = [memory, region, count, place = target.place, pages = target.pages] {
    FloatsRead read{place ? nullptr : std::make_shared<Pages>(count * sizeof(float))};
    read.firstNotFinite = cpu::read_floats(*memory, region, static_cast<float*>(place ? place : read.pages->data()));
    return read;
  };
  return PromiseWorker<FloatsRead>::start(info.Env(), std::move(work), [count, target](Napi::Env env, FloatsRead& read) {
    if (target.array && read.pages) target.fill(*read.pages);
    Napi::Object result = Napi::Object::New(env);
    result.Set("values", target.array ? target.array->Value() : floats_to_js(env, read.pages));
    if (read.firstNotFinite < count) result.Set("firstNotFinite", static_cast<double>(read.firstNotFinite));
    return result;
  });
}

Napi::Value Buffer::read_bytes(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "readBytes");
  const size_t offset = read_size(info[0], "readBytes offset");
  const size_t bytes = read_size(info[1], "readBytes bytes");
  check_range(*memory, offset, bytes, "readBytes");
  const ReadTarget target = info[2].IsUndefined() ? ReadTarget{} : ReadTarget::of_bytes(info[2], bytes, "readBytes into");
  auto work = [memory, offset, bytes, place = target.place, held = target.pages] {
    auto pages = place ? nullptr : std::make_shared<Pages>(bytes);
    if (bytes > 0) memory->read(offset, place ? place : pages->data(), bytes);
    return pages;
  };
  const auto finish = [target](Napi::Env env, std::shared_ptr<Pages>& pages) -> Napi::Value {
    if (!target.array) return bytes_to_js(env, pages);
    if (pages) target.fill(*pages);
    return target.array->Value();
  };
  return PromiseWorker<std::shared_ptr<Pages>>::start(info.Env(), std::move(work), finish);
}

Napi::Value Buffer::copy_from_sync(const Napi::CallbackInfo& info) {
  read_copy(info, "copyFromSync").run();
  return info.Env().Undefined();
}

Napi::Value Buffer::copy_from(const Napi::CallbackInfo& info) {
  auto work = [copy = read_copy(info, "copyFrom")] {
    copy.run();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Value Buffer::fill_sync(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "fillSync");
  const size_t value = read_size(info[0], "fillSync byte", 255);
  check_writable(*memory, "fillSync");
  memory->fill(0, static_cast<int>(value), memory->bytes());
  return info.Env().Undefined();
}

Napi::Value Buffer::free_sync(const Napi::CallbackInfo& info) {
  if (!has_tag(info.This(), kBufferTag)) wrong_type("freeSync", "a NativeBuffer", info.This());
  Unwrap(info.This().As<Napi::Object>())->memory_.reset();
  return info.Env().Undefined();
}

Napi::Value Buffer::free(const Napi::CallbackInfo& info) {
  if (!has_tag(info.This(), kBufferTag)) wrong_type("free", "a NativeBuffer", info.This());
  auto work = [memory = std::exchange(Unwrap(info.This().As<Napi::Object>())->memory_, nullptr)]() mutable {
    memory.reset();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

}  // namespace vd::binding
