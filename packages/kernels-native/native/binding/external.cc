#include "external.h"

#include <cstring>
#include <string>
#include <utility>

#include "../core/error.h"
#include "../core/os_memory.h"
#include "addon_data.h"
#include "janitor.h"

namespace vd::binding {
namespace {

/** A block that JavaScript holds, and who frees it when it no longer does. */
struct Held {
  std::shared_ptr<void> block;
  std::shared_ptr<Janitor> janitor;
};

/** Memory as an array buffer, without copying it where that is allowed. `block` keeps it alive. */
Napi::ArrayBuffer buffer_to_js(Napi::Env env, void* data, size_t bytes, std::shared_ptr<void> block) {
  napi_value buffer = nullptr;
  auto held = std::make_unique<Held>(Held{std::move(block), env.GetInstanceData<AddonData>()->janitor});
  const auto release = [](napi_env, void*, void* hint) {
    const std::unique_ptr<Held> from(static_cast<Held*>(hint));
    from->janitor->take(std::move(from->block));
  };
  if (bytes > 0 && napi_create_external_arraybuffer(env, data, bytes, release, held.get(), &buffer) == napi_ok) {
    held.release();
    return Napi::ArrayBuffer(env, buffer);
  }
  Napi::ArrayBuffer copy = Napi::ArrayBuffer::New(env, bytes);
  if (bytes > 0) std::memcpy(copy.Data(), data, bytes);
  return copy;
}

/** Lets an array buffer over pages be known by `pages_of`. */
void tag(Napi::Env env, const Napi::ArrayBuffer& buffer, const std::shared_ptr<Pages>& pages) {
  auto held = std::make_unique<Held>(Held{pages, env.GetInstanceData<AddonData>()->janitor});
  const auto release = [](napi_env, void* data, void*) {
    const std::unique_ptr<Held> from(static_cast<Held*>(data));
    from->janitor->take(std::move(from->block));
  };
  if (napi_wrap(env, buffer, held.get(), release, nullptr, nullptr) != napi_ok) return;
  held.release();
  napi_type_tag_object(env, buffer, &kFloatsTag);
}

}  // namespace

Pages::Pages(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = os::reserve_pages(bytes);
  if (data_ == nullptr)
    throw Error(ErrorCode::memory, "read", std::to_string(bytes) + " bytes of free memory", "a refusal by the operating system");
  os::prefer_huge_pages(data_, bytes);
}

Pages::~Pages() {
  if (data_ != nullptr) os::release_pages(data_, bytes_);
}

Napi::Value bytes_to_js(Napi::Env env, std::shared_ptr<Pages>& pages) {
  return Napi::Uint8Array::New(env, pages->bytes(), buffer_to_js(env, pages->data(), pages->bytes(), pages), 0);
}

Napi::Value floats_to_js(Napi::Env env, std::shared_ptr<Pages>& pages) {
  return Napi::Float32Array::New(env, pages->bytes() / sizeof(float), buffer_to_js(env, pages->data(), pages->bytes(), pages), 0);
}

Napi::Value floats_to_fill(Napi::Env env, std::shared_ptr<Pages>& pages) {
  const Napi::ArrayBuffer buffer = buffer_to_js(env, pages->data(), pages->bytes(), pages);
  // It is a copy where JavaScript takes no memory of others.
  if (pages->bytes() > 0 && const_cast<Napi::ArrayBuffer&>(buffer).Data() == pages->data()) tag(env, buffer, pages);
  return Napi::Float32Array::New(env, pages->bytes() / sizeof(float), buffer, 0);
}

std::shared_ptr<Pages> pages_of(const Napi::TypedArray& array) {
  napi_value owner = nullptr;
  void* held = nullptr;
  if (napi_get_typedarray_info(array.Env(), array, nullptr, nullptr, nullptr, &owner, nullptr) != napi_ok) return nullptr;
  if (!has_tag(Napi::Value(array.Env(), owner), kFloatsTag) || napi_unwrap(array.Env(), owner, &held) != napi_ok) return nullptr;
  return std::static_pointer_cast<Pages>(static_cast<Held*>(held)->block);
}

}  // namespace vd::binding
