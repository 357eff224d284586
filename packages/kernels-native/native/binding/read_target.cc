#include "read_target.h"

#include <cstring>
#include <string>

#include "arguments.h"
#include "shared_bytes.h"

namespace vd::binding {
namespace {

std::string amount(size_t bytes, size_t itemBytes) { return std::to_string(bytes / itemBytes) + (itemBytes == 1 ? " bytes" : " numbers"); }

/** value: a typed array. */
ReadTarget target_of(const Napi::Value& value, size_t bytes, size_t itemBytes, const char* where) {
  const auto has = read_bytes(value, where);
  if (has.size() != bytes) throw Error(ErrorCode::shape, where, amount(bytes, itemBytes), std::to_string(has.size() / itemBytes));
  auto array = std::make_shared<Napi::ObjectReference>(Napi::Persistent(value.As<Napi::Object>()));
  ReadTarget target{std::move(array), bytes, nullptr, pages_of(value.As<Napi::TypedArray>()), where, itemBytes};
  if (target.pages || SharedBytes::has(value)) target.place = has.data();
  return target;
}

}  // namespace

ReadTarget ReadTarget::of_floats(const Napi::Value& value, size_t count, const char* where) {
  if (!is_float32_array(value)) wrong_type(where, "a Float32Array", value);
  return target_of(value, count * sizeof(float), sizeof(float), where);
}

ReadTarget ReadTarget::of_bytes(const Napi::Value& value, size_t count, const char* where) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) wrong_type(where, "a Uint8Array", value);
  return target_of(value, count, 1, where);
}

void ReadTarget::fill(const Pages& from) const {
  const auto to = read_bytes(array->Value(), where);
  if (to.size() != from.bytes())
    throw Error(ErrorCode::layout, where, "the " + amount(bytes, itemBytes) + " that it had", std::to_string(to.size() / itemBytes));
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

}  // namespace vd::binding
