// Tables of inner loops that exist once per instruction set.
#pragma once
#include "cpu_features.h"

/** Declares the tables `plain::name`, `avx2::name` and `avx512::name` of type `Type`, on 64-bit Arm `neon::name`, and
 *  `name_of(isa)`, which returns the one for an instruction set that the machine has. A `*.simd.cc` file defines `name` in
 *  namespace vd::cpu::VD_ISA. Use it inside namespace vd::cpu. */
#if defined(__aarch64__)
#define VD_DECLARE_KERNEL_TABLE(Type, name) \
  namespace neon {                          \
  extern const Type name;                   \
  }                                         \
  inline const Type& name##_of(Isa) { return neon::name; }
#else
#define VD_DECLARE_KERNEL_TABLE(Type, name) \
  namespace plain {                         \
  extern const Type name;                   \
  }                                         \
  namespace avx2 {                          \
  extern const Type name;                   \
  }                                         \
  namespace avx512 {                        \
  extern const Type name;                   \
  }                                         \
  inline const Type& name##_of(Isa isa) { return isa >= Isa::avx512 ? avx512::name : isa == Isa::avx2 ? avx2::name : plain::name; }
#endif
