// Random numbers for JavaScript, drawn on a worker thread.
#pragma once
#include <napi.h>

namespace vd::binding {

/** fillNormals(state, values, scale, dtype, mean, isa): see src/addon-types.ts. */
Napi::Value fill_normals(const Napi::CallbackInfo& info);

}  // namespace vd::binding
