// State of the addon per environment (main thread or worker).
#pragma once
#include <napi.h>

#include <memory>

namespace vd {
class Memory;
}

namespace vd::binding {

struct ProgramHandle;
class Janitor;

/** Constructors, and what the next object to be constructed shall hold. */
struct AddonData {
  Napi::FunctionReference buffer;
  Napi::FunctionReference device;
  Napi::FunctionReference program;
  /** Handed over here and not as an argument, since an argument could come from anyone. Empty between constructions. */
  std::shared_ptr<Memory> newMemory;
  std::shared_ptr<ProgramHandle> newProgram;
  /** Shared with the arrays whose memory it will free, which may outlive this. */
  std::shared_ptr<Janitor> janitor;
};

/** Tags by which the addon's objects are known. */
inline constexpr napi_type_tag kBufferTag{0x7d9a1f0c2b6e4a51, 0x8c3e5d7f9b1a2c41};
inline constexpr napi_type_tag kDeviceTag{0x7d9a1f0c2b6e4a52, 0x8c3e5d7f9b1a2c42};
inline constexpr napi_type_tag kProgramTag{0x7d9a1f0c2b6e4a53, 0x8c3e5d7f9b1a2c43};
/** Of array buffers over `Pages` that workers fill in place. */
inline constexpr napi_type_tag kFloatsTag{0x7d9a1f0c2b6e4a54, 0x8c3e5d7f9b1a2c44};

inline bool has_tag(const Napi::Value& value, const napi_type_tag& tag) {
  if (!value.IsObject()) return false;
  bool same = false;
  return napi_check_object_type_tag(value.Env(), value, &tag, &same) == napi_ok && same;
}

}  // namespace vd::binding
