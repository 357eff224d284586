// Results of the driver as errors of this software.
#pragma once
#include <string>

#include "../core/error.h"
#include "cuda_api.h"

namespace vd::driver {

/** The driver's name and text of a result, e.g. `CUDA_ERROR_OUT_OF_MEMORY (2): out of memory`. */
std::string describe(const Api& api, Result result);

/** True for results after which nothing works in the context any more. */
bool loses_device(Result result);

/** The error of a failed call: `memory`, `unsupported` or `driver`. where: op row or call. */
Error error_of(const Api& api, Result result, const std::string& where);

}  // namespace vd::driver
