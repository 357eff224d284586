// Why a kernel cannot compute a row, as plain data: it costs nothing until somebody reads it.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "launch.h"

namespace vd::cuda {

/** A reason against a kernel; one without a sentence says that there is none. */
struct Reason {
  /** A clause without a full stop; each # stands for the next number. A string literal. */
  const char* sentence = nullptr;
  int64_t numbers[2] = {0, 0};
  /** The operand that the clause is about, which goes before it, or null. A string literal. */
  const char* operand = nullptr;

  explicit operator bool() const { return sentence != nullptr; }
  /** The clause with its operand and numbers, e.g. `x is not 16-byte aligned`. */
  std::string text() const;
};

/** The first of several reasons that is one. */
inline Reason first_of(std::initializer_list<Reason> reasons) {
  for (const Reason& reason : reasons)
    if (reason) return reason;
  return {};
}

/** `reason` if the condition holds, else none. */
inline Reason if_so(bool condition, const Reason& reason) { return condition ? reason : Reason{}; }

/** Why 16-byte accesses do not reach every run of `step` elements of a tensor. Absent tensors have no reason.
 *  whole: the channels, too, must be a multiple of `step`. */
Reason access_reason(const Tensor& tensor, const char* operand, int64_t step, bool whole);

/** What a device lacks whose code is for less than compute capability 8.0. */
Reason sm80_reason(const DeviceInfo& device);

/** What a device lacks that has no wgmma. */
Reason wgmma_reason(const DeviceInfo& device);

/** Against the form of a kernel that moves single elements, where the other form can do the row. */
inline constexpr Reason kScalarReason{"is for operands that cannot be moved 16 bytes at a time"};

}  // namespace vd::cuda
