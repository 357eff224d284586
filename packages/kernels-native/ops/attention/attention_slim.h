// The shape of the Hopper kernel for slim heads and many keys, shared by host and device.
#pragma once

namespace vd::device {

/** Query rows and keys of a tile, tiles of keys and of values under way, and threads of a block. */
inline constexpr int kSlimRows = 256, kSlimKeys = 64, kSlimStages = 6, kSlimThreads = 640;
/** Dynamic shared memory: queries, keys and values, and 1 KiB to align them. */
inline constexpr int kSlimSharedBytes = (kSlimRows + 2 * kSlimStages * kSlimKeys) * 128 + 1024;

}  // namespace vd::device
