// Generated from contract/layout.ts by `pnpm gen`. Do not edit.
#pragma once

namespace vd {

/** Most dimensions of a tensor. */
inline constexpr int kMaxRank = 5;
/** The largest single dimension and element count: 2^46. */
inline constexpr double kMaxElements = 70368744177664.0;

}  // namespace vd
