// Stands in for device/ptx/tma.cuh. Copies are done when they begin; elements outside the tensor are zeros.
#pragma once
#include <initializer_list>

#include "../tensor_map.h"
#include "shared.h"
#include "wgmma.cuh"

namespace vd::emulator {

/** Calls body(shared address, element or null where it is outside) for each element of the box at `start`. */
template <class Body> inline void visit_box(const TensorMapRecord& map, uint32_t shared, std::initializer_list<int> start, Body body) {
  if (start.size() != map.rank) fail("a copy by a tensor map of another rank");
  if (shared % 128 != 0) fail("a box at shared address " + std::to_string(shared));
  int sizes[5] = {1, 1, 1, 1, 1}, at[5] = {}, first[5] = {};
  std::copy(start.begin(), start.end(), first);
  for (int i = 0; i < map.rank; ++i) sizes[i] = (map.box[i] + map.steps[i] - 1) / map.steps[i];
  uint32_t offset = 0;
  for (at[4] = 0; at[4] < sizes[4]; ++at[4])
    for (at[3] = 0; at[3] < sizes[3]; ++at[3])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[1] = 0; at[1] < sizes[1]; ++at[1])
          for (at[0] = 0; at[0] < sizes[0]; ++at[0], offset += map.elementBytes) {
            bool inside = true;
            uint64_t address = map.base;
            for (int i = 0; i < map.rank; ++i) {
              const int64_t position = int64_t{first[i]} + int64_t{at[i]} * map.steps[i];
              inside &= position >= 0 && position < static_cast<int64_t>(map.dims[i]);
              address += static_cast<uint64_t>(position) * (i == 0 ? map.elementBytes : map.strideBytes[i - 1]);
            }
            body(swizzled(shared + offset, map.patternBytes), inside ? reinterpret_cast<std::byte*>(address) : nullptr);
          }
}

inline uint32_t box_bytes(const TensorMapRecord& map) {
  uint32_t bytes = map.elementBytes;
  for (int i = 0; i < map.rank; ++i) bytes *= (map.box[i] + map.steps[i] - 1u) / map.steps[i];
  return bytes;
}
inline void load_box(uint32_t dst, const void* raw, uint32_t barrier, std::initializer_list<int> start) {
  const auto& map = *static_cast<const TensorMapRecord*>(raw);
  visit_box(map, dst, start, [&](uint32_t shared, const std::byte* element) {
    if (element) memcpy(shared_bytes(shared), element, map.elementBytes);
    else memset(shared_bytes(shared), 0, map.elementBytes);
  });
  phase_bytes(barrier, box_bytes(map));
}
inline void store_box(const void* raw, uint32_t src, std::initializer_list<int> start) {
  const auto& map = *static_cast<const TensorMapRecord*>(raw);
  visit_box(map, src, start, [&](uint32_t shared, std::byte* element) {
    if (element) memcpy(element, shared_bytes(shared), map.elementBytes);
  });
}

}  // namespace vd::emulator

namespace vd::device::ptx {

inline void prefetch_tensor_map(const void*) {}
inline void tma_load_4d(uint32_t dst, const void* map, uint32_t barrier, int c0, int c1, int c2, int c3) {
  emulator::load_box(dst, map, barrier, {c0, c1, c2, c3});
}
inline void tma_load_5d(uint32_t dst, const void* map, uint32_t barrier, int c0, int c1, int c2, int c3, int c4) {
  emulator::load_box(dst, map, barrier, {c0, c1, c2, c3, c4});
}
inline void tma_prefetch_4d(const void*, int, int, int, int) {}
inline void tma_prefetch_5d(const void*, int, int, int, int, int) {}
inline void tma_store_4d(const void* map, uint32_t src, int c0, int c1, int c2, int c3) { emulator::store_box(map, src, {c0, c1, c2, c3}); }
inline void tma_store_5d(const void* map, uint32_t src, int c0, int c1, int c2, int c3, int c4) {
  emulator::store_box(map, src, {c0, c1, c2, c3, c4});
}
inline void bulk_commit() {}
inline void bulk_wait_read() {}
inline void bulk_wait() {}
inline void tma_multicast_4d(uint32_t dst, const void* map, uint32_t barrier, uint16_t mask, int c0, int c1, int c2, int c3) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (!(mask >> rank & 1)) continue;
    const uint32_t window = rank << emulator::kWindowBits;
    emulator::load_box(dst % emulator::kWindowBytes + window, map, barrier % emulator::kWindowBytes + window, {c0, c1, c2, c3});
  }
}

}  // namespace vd::device::ptx
