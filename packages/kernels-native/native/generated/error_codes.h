// Generated from contract/error-codes.ts by `pnpm gen`. Do not edit.
#pragma once

namespace vd {

enum class ErrorCode { shape, dtype, layout, attr, weights, memory, unsupported, driver, io, cancelled, internal };

inline constexpr const char* kErrorCodeNames[] = {"shape", "dtype", "layout", "attr", "weights", "memory", "unsupported", "driver", "io", "cancelled", "internal"};

}  // namespace vd
