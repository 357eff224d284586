// Which tiles serve a target.
#include "amx_kernels.h"

namespace vd::cpu::amx {

Engine engine_of(const Target& target) {
  const int parts = parts_of(target.math);
  if (target.isa == Isa::amx) return {&kAmxTiles, parts};
  if (target.isa == Isa::amx_emulated) return {has_bf16_dots() ? &kDotTiles : &kPlainTiles, parts};
  // Two products in the time of one: three of them are no gain.
  if (target.isa == Isa::avx512 && target.math == Math::bf16) return {&kDotTiles, parts};
  return {};
}

}  // namespace vd::cpu::amx
