// Memory as a JavaScript object. The bytes are only reachable by copying, so no JavaScript can see freed memory.
#pragma once
#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "../core/memory.h"

namespace vd::binding {

class Janitor;

class Buffer : public Napi::ObjectWrap<Buffer> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Object make(Napi::Env env, std::shared_ptr<Memory> memory);
  explicit Buffer(const Napi::CallbackInfo& info);
  /** Of an object that nobody freed: garbage collection does not wait for its memory. */
  ~Buffer() override;

  /** The memory of `value`. Throws Error if it is no Buffer of this addon or was freed. */
  static std::shared_ptr<Memory> memory_of(const Napi::Value& value, const char* where);

 private:
  static Napi::Value bytes(const Napi::CallbackInfo& info);
  static Napi::Value writable(const Napi::CallbackInfo& info);
  static Napi::Value write_sync(const Napi::CallbackInfo& info);
  static Napi::Value write(const Napi::CallbackInfo& info);
  static Napi::Value read_sync(const Napi::CallbackInfo& info);
  static Napi::Value write_floats(const Napi::CallbackInfo& info);
  static Napi::Value read_floats(const Napi::CallbackInfo& info);
  static Napi::Value read_bytes(const Napi::CallbackInfo& info);
  static Napi::Value copy_from_sync(const Napi::CallbackInfo& info);
  static Napi::Value copy_from(const Napi::CallbackInfo& info);
  static Napi::Value fill_sync(const Napi::CallbackInfo& info);
  static Napi::Value free_sync(const Napi::CallbackInfo& info);
  static Napi::Value free(const Napi::CallbackInfo& info);

  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Janitor> janitor_;
};

/** Copies from buffer to buffer, each `{target, to, source, from, bytes}`; none where `value` is undefined. Throws Error for anything else,
 *  and for ranges outside of a buffer. */
std::vector<MemoryCopy> read_copies(const Napi::Value& value, const std::string& where);

}  // namespace vd::binding
