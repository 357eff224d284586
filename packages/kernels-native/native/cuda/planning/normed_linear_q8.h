// Launches of linear layers in float8 that normalise and round their tokens first: in registers, or by a norm that puts codes into the
// workspace.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "../../core/normed_linear.h"
#include "linear_q8.h"
#include "through_workspace.h"

namespace vd::cuda {

/** Adds the kernels whose tiles keep their rows in registers, and normalise and round them there. yScale: of results in codes, or null;
 *  prefix: of the kernels' names, without the type. */
template <class Args>
void add_rounded_rows(const Args& a, const float* yScale, const char* prefix, const DeviceInfo& device, Candidates& out) {
  constexpr const char* kPack = "linear_q8_pack";
  const auto linear = as_linear_q8(a, a.x);
  const LinearQ8Operands operands = {linear.x, linear.xScale, linear.weight, linear.weightScale, yScale, epilogue_operands(linear)};
  if (!out.allows({kMatmulSm90Family}, first_of({linear_q8_sm90_reason(operands, device), copy_engine_reason(a.x, "x")}))) return;
  Variant base;
  device::Epilogue epilogue = make_epilogue(operands.tail, a.y.dim(1), a.y.dim(2));
  epilogue.yScale = yScale;
  MatmulProblem problem = linear_q8_sm90_problem(operands, base, epilogue);
  const std::string symbols = prefix + type_name(a.x.dtype) + "_";
  problem.symbolPrefix = symbols.c_str();
  problem.untyped = typed_epilogue_reason(operands.tail, a.x.dtype);
  problem.rounded = true;
  problem.tokenNorm = {a.eps, float_bias(base, a.normWeight, kPack), float_bias(base, a.normBias, kPack), a.normScale.template as<float>()};
  add_matmul_sm90(problem, base, device, out);
  for (Variant& variant : out.variants) variant.launches.back().overlapped = true;
}

/** Adds the kernels of a layer of `codes` behind the first of `norms`, which leaves those in the workspace. */
inline void add_behind_norm(Candidates norms, const Tensor& codes, std::vector<Variant> layers, Candidates& out) {
  if (norms.variants.empty()) return;
  add_behind(into_workspace(std::move(norms.variants[0]), codes), codes, std::move(layers), "apart_", out);
}

}  // namespace vd::cuda
