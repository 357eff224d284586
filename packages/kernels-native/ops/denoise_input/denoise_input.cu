// denoise_input: per pixel [inputScale · latents, image], the image's channels zero in the first of two rows; one element a
// thread: there are 8 channels. Symbols: denoise_input_scalar.
#include "../../device/elementwise.cuh"
#include "denoise_input_params.h"

using namespace vd::device;

namespace {

__device__ __forceinline__ void denoise_input(const DenoiseInputParams& p) {
  const float scale = *p.inputScale;
  for_each_item(p.rows * p.pixels * p.channels, [&](int64_t i) {
    const int64_t place = i / p.channels;
    const int c = static_cast<int>(i - place * p.channels);
    const int64_t pixel = place % p.pixels;
    float v = 0.0f;
    if (c < p.latentChannels) v = scale * load_any(p.latents, p.latentsType, pixel * p.latentsPitch + c);
    else if (p.rows == 1 || place >= p.pixels)
      v = load_any(p.image, p.imageType, pixel % p.pixelsPerFrame * p.imagePitch + (c - p.latentChannels));
    store_any(p.y, p.yType, place * p.yPitch + c, v);
  });
}

}  // namespace

VD_KERNEL(denoise_input_scalar, DenoiseInputParams, 256, 4, denoise_input)
