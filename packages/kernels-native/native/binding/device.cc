#include "device.h"

#include <string>
#include <utility>

#include "../cpu/backend.h"
#include "../cuda/backend.h"
#include "addon_data.h"
#include "arguments.h"
#include "async.h"
#include "buffer.h"
#include "compile_request.h"
#include "wrap.h"

namespace vd::binding {
namespace {

constexpr double kMaxThreads = 1024, kMaxDevices = 1024;

std::shared_ptr<Device> open_cpu(const Napi::Object& options) {
  cpu::DeviceOptions cpu;
  const size_t threads = read_size(options.Get("threads"), "openDevice threads", kMaxThreads);
  if (threads == 0) throw Error(ErrorCode::attr, "openDevice threads", "at least 1", "0");
  cpu.threads = static_cast<int>(threads);
  const cpu::Isa isa = read_isa(options.Get("isa"), "openDevice isa");
  cpu.target = {isa, cpu::math_of(isa, read_math(options.Get("math"), "openDevice math"))};
  cpu.reference = read_bool(options.Get("reference"), "openDevice reference");
  return cpu::make_device(cpu);
}

std::shared_ptr<Device> open_cuda(const Napi::Object& options) {
  cuda::ContextOptions gpu;
  gpu.index = static_cast<int>(read_size(options.Get("index"), "openDevice index", kMaxDevices));
  gpu.imageDir = read_string(options.Get("imageDir"), "openDevice imageDir");
  gpu.image = read_string(options.Get("image"), "openDevice image");
  return cuda::make_device(gpu);
}

Napi::Array texts_to_js(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array result = Napi::Array::New(env, texts.size());
  for (size_t i = 0; i < texts.size(); ++i) result.Set(static_cast<uint32_t>(i), texts[i]);
  return result;
}

Napi::Array rejected_to_js(Napi::Env env, const std::vector<RejectedVariant>& variants) {
  Napi::Array result = Napi::Array::New(env, variants.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    Napi::Object item = Napi::Object::New(env);
    item.Set("name", variants[i].name);
    item.Set("reason", variants[i].reason);
    result.Set(static_cast<uint32_t>(i), item);
  }
  return result;
}

/** A buffer over what `allocate` gives on a worker. */
Napi::Value make_buffer(Napi::Env env, std::function<std::shared_ptr<Memory>()> allocate) {
  return PromiseWorker<std::shared_ptr<Memory>>::start(
      env, std::move(allocate), [](Napi::Env of, std::shared_ptr<Memory>& memory) { return Buffer::make(of, std::move(memory)); });
}

Napi::Value times_to_js(Napi::Env env, RunTimes& times) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("elapsedUs", times.total_us);
  result.Set("replayed", times.replayed);
  auto rows = Napi::Float64Array::New(env, times.row_us.size());
  for (size_t i = 0; i < times.row_us.size(); ++i) rows[i] = times.row_us[i];
  result.Set("rowUs", rows);
  return result;
}

}  // namespace

Napi::Function DeviceObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeDevice",
      {method<&DeviceObject::compile>("compile"), method<&DeviceObject::prepare>("prepare"), method<&DeviceObject::allocate>("allocate"),
       method<&DeviceObject::allocate_host>("allocateHost"), method<&DeviceObject::trim>("trim"), method<&DeviceObject::memory>("memory")});
}

DeviceObject::DeviceObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DeviceObject>(info) {
  guarded(info.Env(), [&] {
    const Napi::Object options = read_object(info[0], "openDevice options");
    device_ = options.Has("imageDir") ? open_cuda(options) : open_cpu(options);
    napi_type_tag_object(info.Env(), info.This(), &kDeviceTag);
  });
}

std::shared_ptr<Device> DeviceObject::device_of(const Napi::Value& value, const char* where) {
  if (!has_tag(value, kDeviceTag)) wrong_type(where, "a NativeDevice", value);
  return Unwrap(value.As<Napi::Object>())->device_;
}

Napi::Value DeviceObject::prepare(const Napi::CallbackInfo& info) {
  auto work = [device = device_of(info.This(), "prepare")] {
    device->prepare();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Value DeviceObject::allocate(const Napi::CallbackInfo& info) {
  const Contents contents = read_bool(info[1], "allocate cleared") ? Contents::zeros : Contents::undefined;
  return make_buffer(info.Env(), [device = device_of(info.This(), "allocate"), bytes = read_size(info[0], "allocate bytes"), contents] {
    return device->allocate(bytes, contents);
  });
}

Napi::Value DeviceObject::allocate_host(const Napi::CallbackInfo& info) {
  return make_buffer(info.Env(), [device = device_of(info.This(), "allocateHost"), bytes = read_size(info[0], "allocateHost bytes")] {
    return device->allocate_on_host(bytes);
  });
}

Napi::Value DeviceObject::trim(const Napi::CallbackInfo& info) {
  const bool transformed = !info[0].IsUndefined() && read_bool(info[0], "trim transformed");
  auto work = [device = device_of(info.This(), "trim"), which = transformed ? Unused::transformed : Unused::all] {
    device->trim(which);
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Value DeviceObject::memory(const Napi::CallbackInfo& info) {
  auto work = [device = device_of(info.This(), "memory")] { return device->memory(); };
  return PromiseWorker<DeviceMemoryInfo>::start(info.Env(), std::move(work), [](Napi::Env env, DeviceMemoryInfo& from) {
    Napi::Object to = Napi::Object::New(env);
    to.Set("freeBytes", static_cast<double>(from.free_bytes));
    to.Set("totalBytes", static_cast<double>(from.total_bytes));
    to.Set("residentBytes", static_cast<double>(from.resident_bytes));
    return to;
  });
}

Napi::Value DeviceObject::compile(const Napi::CallbackInfo& info) {
  auto work = [device = device_of(info.This(), "compile"), request = CompileRequest(info)]() mutable {
    auto handle = std::make_shared<ProgramHandle>();
    handle->program = std::move(request).compile(*device);
    return handle;
  };
  using Worker = PromiseWorker<std::shared_ptr<ProgramHandle>>;
  return Worker::start(info.Env(), std::move(work),
                       [](Napi::Env env, std::shared_ptr<ProgramHandle>& handle) { return ProgramObject::make(env, handle); });
}

Napi::Function ProgramObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeProgram",
      {method<&ProgramObject::run>("run"), method<&ProgramObject::queue>("queue"), method<&ProgramObject::wait>("wait"),
       method<&ProgramObject::cancel>("cancel"), method<&ProgramObject::free_sync>("freeSync"), method<&ProgramObject::free>("free"),
       getter<&ProgramObject::details>("info"), getter<&ProgramObject::candidates>("candidates"),
       getter<&ProgramObject::rejected>("rejected"), getter<&ProgramObject::refused>("refused")});
}

Napi::Object ProgramObject::make(Napi::Env env, std::shared_ptr<ProgramHandle> handle) {
  auto* data = env.GetInstanceData<AddonData>();
  data->newProgram = std::move(handle);
  return data->program.New({});
}

ProgramObject::ProgramObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ProgramObject>(info) {
  guarded(info.Env(), [&] {
    handle_ = std::exchange(info.Env().GetInstanceData<AddonData>()->newProgram, nullptr);
    if (!handle_) throw Error(ErrorCode::attr, "NativeProgram", "compile", "a call of the constructor");
    napi_type_tag_object(info.Env(), info.This(), &kProgramTag);
  });
}

std::shared_ptr<ProgramHandle> ProgramObject::handle_of(const Napi::Value& value) {
  if (!has_tag(value, kProgramTag)) wrong_type("program", "a NativeProgram", value);
  auto handle = Unwrap(value.As<Napi::Object>())->handle_;
  if (!handle) throw Error(ErrorCode::layout, "program", "a living program", "one that was freed");
  return handle;
}

namespace {

/** Gives a run its number and hands it to `work`, off the event loop. */
template <class Result>
Napi::Value ask(Napi::Env env, std::shared_ptr<ProgramHandle> handle, RunRequest request,
                std::function<Result(Program&, const RunRequest&)> work, typename PromiseWorker<Result>::Finish finish) {
  const bool queues = handle->program->queues_runs();
  if (handle->running.load() >= (queues ? 2 : 1))
    throw Error(ErrorCode::unsupported, "run", queues ? "two runs of a program at a time" : "one run of a program at a time",
                "another one");
  ++handle->running;
  request.number = handle->requested++;
  handle->program->arm();
  // Let go with the work itself, when its promise has been settled: to JavaScript a run lasts until then.
  auto release = std::shared_ptr<void>(nullptr, [handle](void*) { --handle->running; });
  auto all = [handle, request = std::move(request), work = std::move(work), release]() { return work(*handle->program, request); };
  return PromiseWorker<Result>::start(env, std::move(all), std::move(finish));
}

Napi::Value nothing(Napi::Env env, bool&) { return env.Undefined(); }

}  // namespace

Napi::Value ProgramObject::run(const Napi::CallbackInfo& info) {
  RunRequest request;
  request.timeRows = read_bool(info[0], "run timing");
  request.copies = read_copies(info[1], "run copies");
  const auto run = [](Program& program, const RunRequest& asked) { return program.run(asked); };
  return ask<RunTimes>(info.Env(), handle_of(info.This()), std::move(request), run, times_to_js);
}

Napi::Value ProgramObject::queue(const Napi::CallbackInfo& info) {
  RunRequest request;
  request.copies = read_copies(info[0], "queue copies");
  if (!info[1].IsArray()) wrong_type("queue after", "a list of programs", info[1]);
  const auto after = info[1].As<Napi::Array>();
  for (uint32_t i = 0; i < after.Length(); ++i) request.after.push_back(handle_of(after[i])->program);
  const auto queue = [](Program& program, const RunRequest& asked) {
    program.queue(asked);
    return true;
  };
  return ask<bool>(info.Env(), handle_of(info.This()), std::move(request), queue, nothing);
}

Napi::Value ProgramObject::wait(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  auto work = [handle, waiter = handle->program->waiter()] {
    waiter();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), nothing);
}

Napi::Value ProgramObject::cancel(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  handle->program->cancel();
  return info.Env().Undefined();
}

Napi::Value ProgramObject::free_sync(const Napi::CallbackInfo& info) {
  handle_of(info.This());
  Unwrap(info.This().As<Napi::Object>())->handle_.reset();
  return info.Env().Undefined();
}

Napi::Value ProgramObject::free(const Napi::CallbackInfo& info) {
  handle_of(info.This());
  auto work = [handle = std::exchange(Unwrap(info.This().As<Napi::Object>())->handle_, nullptr)]() mutable {
    handle.reset();
    return true;
  };
  return PromiseWorker<bool>::start(info.Env(), std::move(work), [](Napi::Env env, bool&) { return env.Undefined(); });
}

Napi::Value ProgramObject::details(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  const ProgramInfo& from = handle->program->info();
  Napi::Object to = Napi::Object::New(info.Env());
  to.Set("scratchBytes", static_cast<double>(from.scratch_bytes));
  to.Set("packedBytes", static_cast<double>(from.packed_bytes));
  to.Set("streamedBytes", static_cast<double>(from.streamed_bytes));
  Napi::Array fast = Napi::Array::New(info.Env(), from.fast.size());
  for (size_t i = 0; i < from.fast.size(); ++i) fast.Set(static_cast<uint32_t>(i), static_cast<bool>(from.fast[i]));
  to.Set("fast", fast);
  to.Set("variants", texts_to_js(info.Env(), from.variants));
  Napi::Array launches = Napi::Array::New(info.Env(), from.launches.size());
  for (size_t i = 0; i < from.launches.size(); ++i) launches.Set(static_cast<uint32_t>(i), from.launches[i]);
  to.Set("launches", launches);
  return to;
}

Napi::Value ProgramObject::candidates(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  const ProgramInfo& from = handle->program->info();
  // A backend that has no variants lists none: every row gets an empty list.
  Napi::Array result = Napi::Array::New(info.Env(), from.fast.size());
  for (size_t i = 0; i < from.fast.size(); ++i)
    result.Set(static_cast<uint32_t>(i),
               texts_to_js(info.Env(), i < from.candidates.size() ? from.candidates[i] : std::vector<std::string>()));
  return result;
}

Napi::Value ProgramObject::rejected(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  const ProgramInfo& from = handle->program->info();
  Napi::Array result = Napi::Array::New(info.Env(), from.fast.size());
  for (size_t i = 0; i < from.fast.size(); ++i)
    result.Set(static_cast<uint32_t>(i),
               rejected_to_js(info.Env(), i < from.rejected.size() ? from.rejected[i] : std::vector<RejectedVariant>()));
  return result;
}

Napi::Value ProgramObject::refused(const Napi::CallbackInfo& info) {
  const auto handle = handle_of(info.This());
  return rejected_to_js(info.Env(), handle->program->info().refused);
}

}  // namespace vd::binding
