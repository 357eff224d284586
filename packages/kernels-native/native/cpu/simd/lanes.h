// Vectors of 32 bits a lane as the compiler's own type, for loops over bits that every instruction set has: as many lanes as a Vec.
#pragma once
#include <cstdint>

#include "isa.h"

namespace vd::cpu::VD_ISA {

typedef float Floats __attribute__((vector_size(4 * Vec::kWidth)));
typedef int32_t Ints __attribute__((vector_size(4 * Vec::kWidth)));
typedef uint8_t Bytes __attribute__((vector_size(Vec::kWidth)));

static inline Ints all_ints(int32_t value) { return Ints{} + value; }
static inline Floats all_floats(float value) { return Floats{} + value; }
static inline Ints bits_of(Floats x) { return reinterpret_cast<Ints>(x); }
static inline Floats floats_of(Ints bits) { return reinterpret_cast<Floats>(bits); }

/** The lanes of `yes` where all bits of `mask` are set, else those of `no`. */
static inline Ints choose(Ints mask, Ints yes, Ints no) { return (mask & yes) | (~mask & no); }

/** A whole vector at p. */
template <class Lanes, class T> static inline Lanes read_lanes(const T* p) {
  Lanes lanes;
  __builtin_memcpy(&lanes, p, sizeof lanes);
  return lanes;
}

/** The first `n` elements at p, less than a vector of them; zeros behind. */
template <class Lanes, class T> static inline Lanes read_lanes(const T* p, int64_t n) {
  Lanes lanes{};
  __builtin_memcpy(&lanes, p, static_cast<size_t>(n) * sizeof(T));
  return lanes;
}

template <class Lanes, class T> static inline void write_lanes(Lanes lanes, T* p) { __builtin_memcpy(p, &lanes, sizeof lanes); }

/** Writes the first `n` lanes to p. */
template <class Lanes, class T> static inline void write_lanes(Lanes lanes, T* p, int64_t n) {
  __builtin_memcpy(p, &lanes, static_cast<size_t>(n) * sizeof(T));
}

}  // namespace vd::cpu::VD_ISA
