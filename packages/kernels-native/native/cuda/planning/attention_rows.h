// Where the rows of attention and of its gradients lie, as their kernels take it.
#pragma once
#include "../../../device/attention_rows.h"
#include "../../generated/op_args.h"
#include "launch.h"

namespace vd::cuda {

/** How sequences lie in a tensor [B,F,S,E]: over space, rows are tokens; over time, rows are frames and every token a sequence. */
inline device::AttentionView attention_view(const Tensor& t, bool time) {
  const int64_t frame = t.dim(2) * t.pitch, batch = t.dim(1) * frame;
  if (time) return {t.data, batch, t.pitch, frame};
  return {t.data, batch, t.dim(1) > 1 ? frame : 0, t.pitch};
}

/** The parameters of a row of attention or of its gradients, but the numbers of tiles. */
template <class Args> device::AttentionMmaParams attention_rows(const Args& a) {
  device::AttentionMmaParams p{};
  const bool time = a.axis == AttentionAxis::time;
  p.q = attention_view(a.q, time);
  p.k = attention_view(a.k, time);
  p.v = attention_view(a.v, time);
  p.y = attention_view(a.y, time);
  p.heads = static_cast<int32_t>(a.heads);
  p.dim = static_cast<int32_t>(a.q.channels() / a.heads);
  p.frames = static_cast<int32_t>(time ? a.q.dim(2) : a.q.dim(1));
  p.seqQ = static_cast<int32_t>(time ? a.q.dim(1) : a.q.dim(2));
  p.seqK = static_cast<int32_t>(time ? a.k.dim(1) : a.k.dim(2));
  p.numHeadsFrames = static_cast<int32_t>(a.q.dim(0) * p.frames * p.heads);
  p.scale = a.scale;
  p.causal = a.causal;
  p.mask = a.mask.data;
  p.maskType = static_cast<int32_t>(a.mask.dtype);
  if (a.mask.present()) {
    p.maskRow = a.mask.dim(2) > 1 ? a.mask.pitch : 0;
    p.maskHead = a.mask.dim(1) > 1 ? a.mask.dim(2) * a.mask.pitch : 0;
    p.maskBatch = a.mask.dim(0) > 1 ? a.mask.dim(1) * a.mask.dim(2) * a.mask.pitch : 0;
  }
  p.cuQ = a.cuQ.template as<int32_t>();
  p.cuK = a.cuK.template as<int32_t>();
  p.numSequences = a.cuQ.present() ? static_cast<int32_t>(a.cuQ.channels() - 1) : 0;
  p.lse = a.lse.template as<float>();
  // [B,F,heads,S]: over time the frame of a row is a row, the token a sequence.
  const int64_t pitch = a.lse.pitch;
  p.lseHead = pitch;
  p.lseRow = time ? a.heads * pitch : 1;
  p.lseFrame = time ? 1 : a.heads * pitch;
  p.lseBatch = a.q.dim(1) * a.heads * pitch;
  const int chunk = 16 / bytes_of(a.q.dtype);
  const auto aligned = [&](const Tensor& t) { return aligned16(t.data) && t.pitch % chunk == 0; };
  p.vector = aligned(a.q) && aligned(a.k) && aligned(a.v) && aligned(a.y) && p.dim % chunk == 0;
  return p;
}

}  // namespace vd::cuda
