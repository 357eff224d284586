// Random numbers for JavaScript.
#pragma once
#include <napi.h>

namespace vd::binding {

/** mersenneDraws(state): see src/addon-types.ts. */
Napi::Value mersenne_draws(const Napi::CallbackInfo& info);

/** fillNormals(state, values, scale, dtype, mean, isa): see src/addon-types.ts. */
Napi::Value fill_normals(const Napi::CallbackInfo& info);

}  // namespace vd::binding
