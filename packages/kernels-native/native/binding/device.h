// Devices and programs as JavaScript objects; compiling and running happen on worker threads.
#pragma once
#include <napi.h>

#include <atomic>
#include <memory>

#include "../core/program.h"

namespace vd::binding {

class DeviceObject : public Napi::ObjectWrap<DeviceObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit DeviceObject(const Napi::CallbackInfo& info);

 private:
  static std::shared_ptr<Device> device_of(const Napi::Value& value, const char* where);
  static Napi::Value compile(const Napi::CallbackInfo& info);
  static Napi::Value prepare(const Napi::CallbackInfo& info);
  static Napi::Value allocate(const Napi::CallbackInfo& info);
  static Napi::Value allocate_host(const Napi::CallbackInfo& info);
  static Napi::Value trim(const Napi::CallbackInfo& info);
  static Napi::Value memory(const Napi::CallbackInfo& info);
  std::shared_ptr<Device> device_;
};

/** A program shared between its JavaScript object and a run on a worker. */
struct ProgramHandle {
  std::shared_ptr<Program> program;
  /** Runs that were asked for and have not ended. */
  std::atomic<int> running{0};
  /** Runs that were asked for. */
  uint64_t requested = 0;
};

class ProgramObject : public Napi::ObjectWrap<ProgramObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object make(Napi::Env env, std::shared_ptr<ProgramHandle> handle);
  explicit ProgramObject(const Napi::CallbackInfo& info);

 private:
  static std::shared_ptr<ProgramHandle> handle_of(const Napi::Value& value);
  static Napi::Value run(const Napi::CallbackInfo& info);
  static Napi::Value queue(const Napi::CallbackInfo& info);
  static Napi::Value wait(const Napi::CallbackInfo& info);
  static Napi::Value cancel(const Napi::CallbackInfo& info);
  static Napi::Value free_sync(const Napi::CallbackInfo& info);
  static Napi::Value free(const Napi::CallbackInfo& info);
  static Napi::Value details(const Napi::CallbackInfo& info);
  static Napi::Value candidates(const Napi::CallbackInfo& info);
  static Napi::Value rejected(const Napi::CallbackInfo& info);
  static Napi::Value refused(const Napi::CallbackInfo& info);
  std::shared_ptr<ProgramHandle> handle_;
};

}  // namespace vd::binding
