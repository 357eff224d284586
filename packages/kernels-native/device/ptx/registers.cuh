// Moving registers between warpgroups. PTX ISA: "Miscellaneous Instructions: setmaxnreg".
#pragma once

namespace vd::device::ptx {

template <int kCount> __device__ __forceinline__ void registers_raise() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount> __device__ __forceinline__ void registers_lower() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace vd::device::ptx
