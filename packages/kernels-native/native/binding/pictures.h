// Pictures for JavaScript.
#pragma once
#include <napi.h>

namespace vd::binding {

/** resizePicture(pixels, width, height, xStarts, xCounts, xWeights, yStarts, yCounts, yWeights, threads): see src/addon-types.ts. */
Napi::Value resize_picture(const Napi::CallbackInfo& info);

/** resamplePicture(pixels, width, height, levels, xFirst, xLength, xWeights, yFirst, yLength, yWeights, mean, spread,
 *  threads): see src/addon-types.ts. */
Napi::Value resample_picture(const Napi::CallbackInfo& info);

/** pictureToPlanes(pixels, levels, into, adds, threads): see src/addon-types.ts. */
Napi::Value picture_to_planes(const Napi::CallbackInfo& info);

}  // namespace vd::binding
