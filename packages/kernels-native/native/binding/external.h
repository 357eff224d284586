// What was read on a worker as JavaScript arrays over the same memory.
#pragma once
#include <napi.h>

#include <memory>

namespace vd::binding {

/** New memory of the operating system for what is read: filling it first would cost as much as reading. */
class Pages {
 public:
  /** Throws Error(memory). */
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* data_ = nullptr;
};

/** A Uint8Array of all pages. */
Napi::Value bytes_to_js(Napi::Env env, std::shared_ptr<Pages>& pages);
/** A Float32Array of all pages. */
Napi::Value floats_to_js(Napi::Env env, std::shared_ptr<Pages>& pages);
/** Does what `floats_to_js` does with pages that workers fill while JavaScript holds the array; `pages_of` finds them. */
Napi::Value floats_to_fill(Napi::Env env, std::shared_ptr<Pages>& pages);
/** The pages that a typed array of `floats_to_fill`, or a part of one, lies in; none of any other array. */
std::shared_ptr<Pages> pages_of(const Napi::TypedArray& array);

}  // namespace vd::binding
