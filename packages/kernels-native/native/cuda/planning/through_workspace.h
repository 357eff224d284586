// Ops of two, where the first one's result lies in the workspace and the second one's launches read it there.
#pragma once
#include "candidates.h"

namespace vd::cuda {

/** Stands for the address of operand `i` that launches hand on through the workspace, before it is known: neither memory nor a stand-in
 *  for it. */
inline void* place_in_workspace(int64_t i) { return reinterpret_cast<void*>(0x6DB2'C300'0000'0000 + (i << 32)); }

/** Makes all that a launch reads and writes at `from` lie at `offset` of the workspace. */
void move_to_workspace(Launch& launch, const void* from, uint64_t offset);

/** Makes room in front of a variant's working memory. */
void shift_workspace(Variant& variant, uint64_t bytes);

/** The variant with its result, which has a place_in_workspace, at the workspace's beginning and its working memory behind it. It may have
 *  no packs. */
Variant into_workspace(Variant variant, const Tensor& result);

/** Adds variants that read `between`, the result of `first`, at the workspace's beginning: its launches go before theirs, and their working
 *  memory lies behind its own. prefix: of the variants' names. */
void add_behind(const Variant& first, const Tensor& between, std::vector<Variant> variants, const char* prefix, Candidates& out);

}  // namespace vd::cuda
