// Generated from contract/dtype.ts by `pnpm gen`. Do not edit.
#pragma once
#include <cstdint>

namespace vd {

/** Element types, in the order of contract/dtype.ts. */
enum class DType : uint8_t { f32 = 0, f16 = 1, bf16 = 2, i32 = 3, u8 = 4, i8 = 5, f8e4m3 = 6 };

inline constexpr int kNumDTypes = 7;
inline constexpr int kDTypeBytes[kNumDTypes] = {4, 2, 2, 4, 1, 1, 1};
inline constexpr const char* kDTypeNames[kNumDTypes] = {"f32", "f16", "bf16", "i32", "u8", "i8", "f8e4m3"};

constexpr int bytes_of(DType type) { return kDTypeBytes[static_cast<int>(type)]; }

}  // namespace vd
