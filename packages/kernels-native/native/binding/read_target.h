// An array of JavaScript's that is read into.
#pragma once
#include <napi.h>

#include <memory>

#include "external.h"

namespace vd::binding {

/** Where a worker puts what it reads, or the event loop once it has. Copies mean the same array; the last one is let go of on the event
 *  loop. */
struct ReadTarget {
  std::shared_ptr<Napi::ObjectReference> array;
  size_t bytes = 0;
  /** Where a worker fills it, in pages of the addon's or in shared memory; of any other array, which JavaScript may take away, none. */
  void* place = nullptr;
  std::shared_ptr<Pages> pages;
  /** For messages. */
  const char* where = "";
  size_t itemBytes = 1;

  /** A Float32Array of `count` numbers. Throws Error(attr|shape). */
  static ReadTarget of_floats(const Napi::Value& value, size_t count, const char* where);
  /** A Uint8Array of `count` bytes. Throws Error(attr|shape). */
  static ReadTarget of_bytes(const Napi::Value& value, size_t count, const char* where);

  /** Copies to an array that no worker fills. Throws Error(layout) where JavaScript has taken its memory away meanwhile. */
  void fill(const Pages& from) const;
};

}  // namespace vd::binding
