// Bytes of JavaScript's that a worker may touch while JavaScript goes on.
#pragma once
#include <napi.h>

#include <memory>
#include <span>

#include "arguments.h"

namespace vd::binding {

/** Bytes of a SharedArrayBuffer, and what keeps them there: nobody can detach, move or shrink shared memory, as happens to
 *  any other. Copies hold the same bytes; the last one is let go of on the event loop. */
struct SharedBytes {
  std::span<std::byte> bytes;
  std::shared_ptr<Napi::ObjectReference> owner;

  /** Whether `value` is a typed array or DataView over shared memory. */
  static bool has(const Napi::Value& value) {
    if (value.IsTypedArray()) return !value.As<Napi::TypedArray>().Buffer().IsArrayBuffer();
    return value.IsDataView() && !value.As<Napi::DataView>().Buffer().IsArrayBuffer();
  }

  /** Of a value that `has` them. */
  static SharedBytes of(const Napi::Value& value, const char* where) {
    auto owner = std::make_shared<Napi::ObjectReference>(Napi::Persistent(value.As<Napi::Object>()));
    return {read_bytes(value, where), std::move(owner)};
  }
};

}  // namespace vd::binding
