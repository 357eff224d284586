// Weights and biases in the form that a kernel wants: as they are, or packed on the device.
#pragma once
#include "../../../device/pack.h"
#include "launch.h"

namespace vd::cuda {

/** Adds a pack of `source` to the variant and returns its index. symbol: of the kernel that packs. */
int add_pack(Variant& variant, const Tensor& source, const char* symbol, device::PackParams params);

/** A bias as float32; one that is absent has no address. */
struct BiasSource {
  bool present = false;
  Address address;
};

/** The bias as float32: the tensor itself, or a pack that is added to the variant. */
BiasSource float_bias(Variant& variant, const Tensor& bias, const char* symbol);

/** A [rows, channels] weight matrix in `dtype`: the tensor itself, or a pack that is added to the variant. */
Address weight_matrix(Variant& variant, const Tensor& weight, DType dtype, const char* symbol);

}  // namespace vd::cuda
