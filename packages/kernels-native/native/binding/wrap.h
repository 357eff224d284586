// The one exception boundary: whatever the native side throws becomes a JavaScript error with the fields of VdError.
#pragma once
#include <napi.h>

#include <exception>
#include <new>
#include <utility>

#include "../core/error.h"

namespace vd::binding {

/** An Error object with code, where, expected, got and hint; errors.ts makes a VdError of it. */
inline Napi::Error to_js(Napi::Env env, const Error& error) {
  Napi::Error js = Napi::Error::New(env, error.what());
  Napi::Object value = js.Value();
  value.Set("vdCode", kErrorCodeNames[static_cast<int>(error.code)]);
  value.Set("where", error.where);
  value.Set("expected", error.expected);
  value.Set("got", error.got);
  value.Set("hint", error.hint);
  return js;
}

/** Runs `body`; every C++ exception leaves as a JavaScript one. */
template <class Body> auto guarded(Napi::Env env, Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Napi::Error&) {
    throw;
  } catch (const Error& error) {
    throw to_js(env, error);
  } catch (const std::bad_alloc&) {
    throw to_js(env, Error(ErrorCode::memory, "addon", "enough free memory", "a failed allocation"));
  } catch (const std::exception& error) {
    throw to_js(env, Error(ErrorCode::internal, "addon", "no failure", error.what()));
  }
}

using Method = Napi::Value (*)(const Napi::CallbackInfo&);

/** What JavaScript calls for `kBody`, which checks its receiver itself: the wrapper of Napi::ObjectWrap would take any
 *  wrapped object for its own and has no readable error for the others. */
template <Method kBody> napi_value entry(napi_env env, napi_callback_info info) noexcept {
  try {
    const Napi::CallbackInfo call(env, info);
    return guarded(env, [&]() -> Napi::Value { return kBody(call); });
  } catch (const Napi::Error& error) {
    // Fails only where JavaScript can no longer run, and then nobody is left to be told.
    napi_throw(env, error.Value());
    return nullptr;
  } catch (...) {
    return nullptr;
  }
}

template <Method kBody> napi_property_descriptor method(const char* name) {
  napi_property_descriptor property{};
  property.utf8name = name;
  property.method = entry<kBody>;
  property.attributes = napi_default_method;
  return property;
}

template <Method kBody> napi_property_descriptor getter(const char* name) {
  napi_property_descriptor property{};
  property.utf8name = name;
  property.getter = entry<kBody>;
  property.attributes = napi_default;
  return property;
}

}  // namespace vd::binding
