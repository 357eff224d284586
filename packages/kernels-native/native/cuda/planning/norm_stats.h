// Launches of group statistics, which group_norm and group_norm_stats share.
#pragma once
#include "../../../device/norm_stats.h"
#include "reason.h"

namespace vd::cuda {

/** How blocks cover a frame: chunks of pixels; lanes of pixels times vectors of channels fill a block. */
struct NormShape {
  int lanes, threads, chunkPixels, numChunks;
};
/** The shape for a source. vector: channels move eight at a time. invariant: chunks follow from the frame alone, so that statistics have
 * the same bits however many frames are normed at a time. */
NormShape norm_shape(const device::NormSource& source, bool vector, const DeviceInfo& device, bool invariant);

/** Why channels of x, and x2 beside it, cannot move eight at a time. */
Reason norm_vector_reason(const Tensor& x, const Tensor& x2);

/** x, or x and x2 side by side, as the kernels see them. */
device::NormSource norm_source(const Tensor& x, const Tensor& x2);

/** Adds the launch of partial statistics into the workspace at `offset`; sets what the finish must know of it.
 *  prefix: of the op's kernels. Returns the bytes of partials. */
size_t add_partial_launch(Variant& variant, const char* prefix, const device::NormSource& source, const NormShape& shape, bool vector,
                          size_t offset, device::NormFinishParams& finish, const DeviceInfo& device);

/** The launch that merges partials, or turns given statistics into an affine map. Relocations are the caller's. */
Launch finish_launch(const char* prefix, const device::NormSource& source, const device::NormFinishParams& finish,
                     const DeviceInfo& device);

}  // namespace vd::cuda
