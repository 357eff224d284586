// Loads and stores by addresses of shared memory.
#pragma once
#include "../builtins.h"

namespace vd::emulator {

template <class T> inline T load_shared(uint32_t address) {
  if (address % sizeof(T) != 0) fail("a load of " + std::to_string(sizeof(T)) + " bytes from shared address " + std::to_string(address));
  T v;
  memcpy(&v, shared_bytes(address), sizeof v);
  return v;
}
template <class T> inline void store_shared(uint32_t address, T v) {
  if (address % sizeof(T) != 0) fail("a store of " + std::to_string(sizeof(T)) + " bytes to shared address " + std::to_string(address));
  memcpy(shared_bytes(address), &v, sizeof v);
}

}  // namespace vd::emulator
