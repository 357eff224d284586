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

}  // namespace vd::binding
