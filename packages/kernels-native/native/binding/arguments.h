// Reads JavaScript arguments; anything unexpected is an Error(attr), never a crash.
#pragma once
#include <napi.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "../core/error.h"
#include "../cpu/cpu_features.h"

namespace vd::binding {

inline const char* type_name(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return "a boolean";
    case napi_number: return "a number";
    case napi_string: return "a string";
    case napi_function: return "a function";
    case napi_object: return "an object";
    default: return "another type";
  }
}

[[noreturn]] inline void wrong_type(const char* where, const char* expected, const Napi::Value& got) {
  throw Error(ErrorCode::attr, where, expected, type_name(got));
}

/** An integer in [0, max]. */
inline size_t read_size(const Napi::Value& value, const char* where, double max = 9e15) {
  if (!value.IsNumber()) wrong_type(where, "a whole number", value);
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= max) || number != std::floor(number))
    throw Error(ErrorCode::attr, where, "a whole number from 0 to " + std::to_string(static_cast<int64_t>(max)), std::to_string(number));
  return static_cast<size_t>(number);
}

inline bool read_bool(const Napi::Value& value, const char* where) {
  if (!value.IsBoolean()) wrong_type(where, "a boolean", value);
  return value.As<Napi::Boolean>().Value();
}

inline bool is_float32_array(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
}

/** A whole number from 0 to 2^64 - 1. */
inline uint64_t read_bigint(const Napi::Value& value, const char* where) {
  if (!value.IsBigInt()) wrong_type(where, "a bigint", value);
  bool exact = false;
  const uint64_t number = value.As<Napi::BigInt>().Uint64Value(&exact);
  if (!exact) throw Error(ErrorCode::attr, where, "a bigint from 0 to 2^64 - 1", "another one");
  return number;
}

inline std::string read_string(const Napi::Value& value, const char* where) {
  if (!value.IsString()) wrong_type(where, "a string", value);
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.find('\0') != std::string::npos) throw Error(ErrorCode::attr, where, "a string without NUL", "one with NUL");
  return text;
}

/** An instruction set by name, or the next one that the machine has. */
inline cpu::Isa read_isa(const Napi::Value& value, const char* where) {
  const std::string name = read_string(value, where);
  if (name == "best") return cpu::best_isa();
  for (const cpu::Isa isa : {cpu::Isa::plain, cpu::Isa::neon, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx, cpu::Isa::amx_emulated})
    if (name == cpu::isa_name(isa)) return cpu::resolve_isa(isa);
  throw Error(ErrorCode::attr, where, "best, amx, avx512, avx2, plain or neon", name);
}

/** How exactly products are taken, by name. */
inline cpu::Math read_math(const Napi::Value& value, const char* where) {
  const std::string name = read_string(value, where);
  for (const cpu::Math math : {cpu::Math::exact, cpu::Math::fast, cpu::Math::bf16})
    if (name == cpu::math_name(math)) return math;
  throw Error(ErrorCode::attr, where, "exact, fast or bf16", name);
}

/** The bytes of a typed array, DataView or ArrayBuffer, shared memory included; valid until control returns to
 *  JavaScript. Views of a buffer that was detached or has shrunk below them have none. */
inline std::span<std::byte> read_bytes(const Napi::Value& value, const char* where) {
  void* data = nullptr;
  size_t bytes = 0, offset = 0;
  napi_value owner = nullptr;
  if (value.IsTypedArray()) {
    size_t elements = 0;
    napi_get_typedarray_info(value.Env(), value, nullptr, &elements, &data, &owner, &offset);
    bytes = elements * value.As<Napi::TypedArray>().ElementSize();
  } else if (value.IsDataView()) {
    napi_get_dataview_info(value.Env(), value, &bytes, &data, &owner, &offset);
  } else if (value.IsArrayBuffer()) {
    napi_get_arraybuffer_info(value.Env(), value, &data, &bytes);
  } else {
    wrong_type(where, "a typed array, DataView or ArrayBuffer", value);
  }
  if (data == nullptr || bytes == 0) return {};
  return {static_cast<std::byte*>(data), bytes};
}

inline Napi::Object read_object(const Napi::Value& value, const char* where) {
  if (!value.IsObject()) wrong_type(where, "an object", value);
  return value.As<Napi::Object>();
}

inline Napi::Array read_array(const Napi::Value& value, const char* where) {
  if (!value.IsArray()) wrong_type(where, "an array", value);
  return value.As<Napi::Array>();
}

inline std::vector<std::string> read_strings(const Napi::Value& value, const char* where) {
  const Napi::Array array = read_array(value, where);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(read_string(array.Get(i), where));
  return texts;
}

}  // namespace vd::binding
