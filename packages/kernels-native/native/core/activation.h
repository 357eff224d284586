// What of activations more than one part of the code asks.
#pragma once
#include "../generated/op_args.h"

namespace vd {

/** True for those that multiply the first half of a product's columns by a function of the second. */
constexpr bool is_gated(Activation act) { return act == Activation::geglu || act == Activation::swiglu; }

/** The function of a gated activation's second half. */
constexpr Activation gate_of(Activation act) { return act == Activation::swiglu ? Activation::silu : Activation::gelu; }

}  // namespace vd
