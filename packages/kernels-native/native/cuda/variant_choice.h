// Which variant computes each row of a program.
#pragma once
#include <vector>

#include "context.h"
#include "loader.h"

namespace vd::cuda {

/** The rows with the variants that `options` asks for; notes in `info`, in their order, what each could have, and could not. Plans rows on
 *  several threads. Throws the Error of the first row that has one. */
std::vector<ChosenRow> choose_variants(Context& context, const std::vector<Row>& rows, const CompileOptions& options, ProgramInfo& info);

}  // namespace vd::cuda
