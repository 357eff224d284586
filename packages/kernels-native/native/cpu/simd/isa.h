// The vector type of the instruction set that a file is compiled for: VD_ISA names it and the namespace that everything
// built for it lives in. Included only by `*.simd.cc` files, which the build compiles once per instruction set, and by
// those named after one. Nothing in them may instantiate a shared inline function, or the linker could hand its code to
// processors without the set.
#pragma once

#if defined(__aarch64__)
#include "vec_neon.h"
#define VD_ISA neon
#elif defined(__AVX512F__)
// GCC 12 reports its own intrinsics' "undefined" operands (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include "vec_avx512.h"
#define VD_ISA avx512
#elif defined(__AVX2__)
#include "vec_avx2.h"
#define VD_ISA avx2
#else
#include "vec_plain.h"
#define VD_ISA plain
#endif
