// Which algorithm serves a convolution, and the candidates.
#pragma once
#include <memory>

#include "../../../native/cpu/amx_kernels.h"
#include "../../../native/cpu/pack_cache.h"
#include "../../../native/cpu/prepared.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** Implicit GEMM on the SIMD matrix kernel: any kernel, stride and padding, upsampling and transposed. */
std::unique_ptr<PreparedRow> make_conv_simd(const ConvArgs& args, PackCache& cache, Isa isa);
/** True for convolutions that make_conv_winograd can do and does faster. */
bool winograd_serves(const ConvArgs& args);
/** Winograd's F(2x2, 3x3) on the SIMD matrix kernel, with one to three taps over frames. */
std::unique_ptr<PreparedRow> make_conv_winograd(const ConvArgs& args, PackCache& cache, Isa isa);
/** The groups one after the other, each a convolution of its own; null where one has no fast path. */
std::unique_ptr<PreparedRow> make_conv_groups(const ConvArgs& args, PackCache& cache, const Target& target);
/** A filter for every channel: vectors of channels, and no products of channels with each other. */
std::unique_ptr<PreparedRow> make_conv_depthwise(const ConvArgs& args, PackCache& cache, Isa isa);
/** Implicit GEMM on the AMX engine. */
std::unique_ptr<PreparedRow> make_conv_amx(const ConvArgs& args, PackCache& cache, const amx::Engine& engine);

}  // namespace vd::cpu
