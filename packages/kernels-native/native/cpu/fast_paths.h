// The fast paths of ops, one function per op in ops/<op>/cpu/<op>_fast.cc. Each returns a row ready to run, or null where
// it declines: then the reference runs. Activations are f32; weights f32, f16 or bf16 at any address. Results do not
// depend on the number of threads. Pointers inside the arguments must stay valid, and constant operands unchanged, as
// long as the row lives.
#pragma once
#include <memory>

#include "../generated/cpu_fast_paths.h"
#include "../generated/op_args.h"
#include "cpu_features.h"
#include "pack_cache.h"
#include "prepared.h"

namespace vd::cpu {

#define VD_DECLARE(id, Args) std::unique_ptr<PreparedRow> prepare_##id(const Args& args, PackCache& cache, const Target& target);
VD_FOR_EACH_CPU_FAST_PATH(VD_DECLARE)
#undef VD_DECLARE

}  // namespace vd::cpu
