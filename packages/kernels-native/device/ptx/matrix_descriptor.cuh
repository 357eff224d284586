// Where wgmma finds an operand in shared memory. PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions: Matrix Descriptor
// Format".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

/** The descriptor of rows of 128 bytes (64 elements of 16 bits) in 128-byte swizzle, groups of eight rows 1 KiB apart. next: of
 *  an operand that is read transposed, bytes from these 64 columns to the 64 after them. A step of 16 bytes adds 1. */
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t next = 16) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (static_cast<uint64_t>(next >> 4) << 16) | (64ull << 32) | (1ull << 62);
}

/** The same of groups of eight rows so many bytes apart, of which the first may begin at any row of the swizzle's pattern. */
__device__ __forceinline__ uint64_t matrix_descriptor_spaced(uint32_t address, uint32_t groupBytes) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (static_cast<uint64_t>(groupBytes >> 4) << 32) | (1ull << 62);
}

/** The same of rows of 64 bytes in 64-byte swizzle, groups of eight rows 512 bytes apart. */
__device__ __forceinline__ uint64_t matrix_descriptor64(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (32ull << 32) | (2ull << 62);
}

}  // namespace vd::device::ptx
