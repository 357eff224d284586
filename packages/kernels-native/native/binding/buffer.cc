#include "buffer.h"

#include <cstring>
#include <utility>

#include "../launch/read_floats.h"
#include "addon_data.h"
#include "arguments.h"
#include "async.h"
#include "wrap.h"

namespace vd::binding {
namespace {

/** [offset, offset + bytes) lies inside `memory`. */
void check_range(const Memory& memory, size_t offset, size_t bytes, const char* where) {
  if (offset > memory.bytes() || bytes > memory.bytes() - offset)
    throw Error(ErrorCode::layout, where, "a range inside the buffer's " + std::to_string(memory.bytes()) + " bytes",
                std::to_string(bytes) + " bytes at offset " + std::to_string(offset));
}

/** Elements of a fetched region: more than any device holds, and no product of two overflows. */
constexpr double kMaxFetch = 1ull << 40;

/** A float view of `region` lies inside `memory`. */
void check_region(const Memory& memory, const FloatRegion& region) {
  if (region.pixels == 0 || region.channels == 0 || region.pitch < region.channels || !is_float(region.dtype))
    throw Error(ErrorCode::layout, "fetch", "floats of at least one pixel and channel, and a pitch of at least the channels", "others");
  const double end = static_cast<double>(region.byteOffset) +
                     (static_cast<double>(region.pixels - 1) * static_cast<double>(region.pitch) + static_cast<double>(region.channels)) *
                         bytes_of(region.dtype);
  if (end > static_cast<double>(memory.bytes()))
    throw Error(ErrorCode::layout, "fetch", "a range inside the buffer's " + std::to_string(memory.bytes()) + " bytes",
                "one that ends at byte " + std::to_string(static_cast<int64_t>(end)));
}

/** Memory that is not zeroed before it is filled: of many megabytes, that would cost as much as reading them. */
struct RawBytes {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
};

/** Hands the bytes to JavaScript without copying them where that is allowed. */
Napi::Value bytes_to_js(Napi::Env env, RawBytes& bytes) {
  uint8_t* data = bytes.data.release();
  napi_value buffer = nullptr;
  const auto release = [](napi_env, void*, void* hint) { delete[] static_cast<uint8_t*>(hint); };
  if (napi_create_external_arraybuffer(env, data, bytes.size, release, data, &buffer) == napi_ok)
    return Napi::Uint8Array::New(env, bytes.size, Napi::ArrayBuffer(env, buffer), 0);
  bytes.data.reset(data);
  auto copy = Napi::Uint8Array::New(env, bytes.size);
  std::memcpy(copy.Data(), data, bytes.size);
  return copy;
}

/** The same for floats. */
Napi::Value floats_to_js(Napi::Env env, std::vector<float>& values) {
  auto* kept = new std::vector<float>(std::move(values));
  const size_t bytes = kept->size() * sizeof(float);
  napi_value buffer = nullptr;
  const auto release = [](napi_env, void*, void* hint) { delete static_cast<std::vector<float>*>(hint); };
  if (napi_create_external_arraybuffer(env, kept->data(), bytes, release, kept, &buffer) == napi_ok)
    return Napi::Float32Array::New(env, kept->size(), Napi::ArrayBuffer(env, buffer), 0);
  auto copy = Napi::Float32Array::New(env, kept->size());
  std::memcpy(copy.Data(), kept->data(), bytes);
  delete kept;
  return copy;
}

void check_writable(const Memory& memory, const char* where) {
  if (!memory.writable()) throw Error(ErrorCode::layout, where, "a buffer that may be written", "a read-only one");
}

}  // namespace

Napi::Function Buffer::define(Napi::Env env) {
  return DefineClass(env, "NativeBuffer",
                     {getter<&Buffer::bytes>("bytes"), getter<&Buffer::writable>("writable"), method<&Buffer::write>("write"),
                      method<&Buffer::read>("read"), method<&Buffer::fetch>("fetch"), method<&Buffer::fetch_bytes>("fetchBytes"),
                      method<&Buffer::copy>("copyFrom"), method<&Buffer::fill>("fill"),
                      method<&Buffer::free>("free"), method<&Buffer::release>("release")});
}

Napi::Object Buffer::make(Napi::Env env, std::shared_ptr<Memory> memory) {
  auto* data = env.GetInstanceData<AddonData>();
  data->newMemory = std::move(memory);
  return data->buffer.New({});
}

Buffer::Buffer(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Buffer>(info) {
  guarded(info.Env(), [&] {
    memory_ = std::exchange(info.Env().GetInstanceData<AddonData>()->newMemory, nullptr);
    if (!memory_) throw Error(ErrorCode::attr, "NativeBuffer", "allocateBuffer or mapFile", "a call of the constructor");
    napi_type_tag_object(info.Env(), info.This(), &kBufferTag);
  });
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

Napi::Value Buffer::write(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "write");
  const size_t offset = read_size(info[1], "write offset");
  const auto source = read_bytes(info[0], "write source");
  check_writable(*memory, "write");
  check_range(*memory, offset, source.size(), "write");
  memory->write(offset, source.data(), source.size());
  return info.Env().Undefined();
}

Napi::Value Buffer::read(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "read");
  const size_t offset = read_size(info[1], "read offset");
  const auto target = read_bytes(info[0], "read target");
  check_range(*memory, offset, target.size(), "read");
  memory->read(offset, target.data(), target.size());
  return info.Env().Undefined();
}

Napi::Value Buffer::fetch(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "fetch");
  FloatRegion region;
  region.byteOffset = read_size(info[0], "fetch offset");
  region.dtype = static_cast<DType>(read_size(info[1], "fetch dtype", kNumDTypes - 1));
  region.pixels = read_size(info[2], "fetch pixels", kMaxFetch);
  region.channels = read_size(info[3], "fetch channels", kMaxFetch);
  region.pitch = read_size(info[4], "fetch pitch", kMaxFetch);
  check_region(*memory, region);
  auto work = [memory, region] { return read_floats(*memory, region); };
  return PromiseWorker<std::vector<float>>::start(info.Env(), std::move(work), floats_to_js);
}

Napi::Value Buffer::fetch_bytes(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "fetchBytes");
  const size_t offset = read_size(info[0], "fetchBytes offset");
  const size_t bytes = read_size(info[1], "fetchBytes bytes");
  check_range(*memory, offset, bytes, "fetchBytes");
  auto work = [memory, offset, bytes] {
    RawBytes values{std::unique_ptr<uint8_t[]>(new uint8_t[bytes]), bytes};
    memory->read(offset, values.data.get(), bytes);
    return values;
  };
  return PromiseWorker<RawBytes>::start(info.Env(), std::move(work), bytes_to_js);
}

Napi::Value Buffer::copy(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "copyFrom");
  const auto source = memory_of(info[0], "copyFrom source");
  const size_t from = read_size(info[1], "copyFrom source offset");
  const size_t to = read_size(info[2], "copyFrom offset");
  const size_t bytes = read_size(info[3], "copyFrom bytes");
  check_writable(*memory, "copyFrom");
  check_range(*source, from, bytes, "copyFrom source");
  check_range(*memory, to, bytes, "copyFrom");
  memory->copy(to, *source, from, bytes);
  return info.Env().Undefined();
}

Napi::Value Buffer::fill(const Napi::CallbackInfo& info) {
  const auto memory = memory_of(info.This(), "fill");
  const size_t value = read_size(info[0], "fill byte", 255);
  check_writable(*memory, "fill");
  memory->fill(0, static_cast<int>(value), memory->bytes());
  return info.Env().Undefined();
}

Napi::Value Buffer::free(const Napi::CallbackInfo& info) {
  if (!has_tag(info.This(), kBufferTag)) wrong_type("free", "a NativeBuffer", info.This());
  Unwrap(info.This().As<Napi::Object>())->memory_.reset();
  return info.Env().Undefined();
}

Napi::Value Buffer::release(const Napi::CallbackInfo& info) {
  if (!has_tag(info.This(), kBufferTag)) wrong_type("release", "a NativeBuffer", info.This());
  auto work = [memory = std::exchange(Unwrap(info.This().As<Napi::Object>())->memory_, nullptr)]() mutable {
    memory.reset();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

}  // namespace vd::binding
