// One group of a convolution as a convolution of its own: views of the operands' channels.
#pragma once
#include "../../native/generated/op_args.h"

namespace vd {

/** Channels [first, first + count) of a tensor; absent ones stay absent. */
inline Tensor channel_view(Tensor t, int64_t first, int64_t count) {
  if (!t.present()) return t;
  t.data = t.as<std::byte>() + first * bytes_of(t.dtype);
  t.dims[t.rank - 1] = count;
  return t;
}

/** Group `index` of a convolution, without groups. The weight and bias views are packed, the others keep their pitch. */
inline ConvArgs group_of(const ConvArgs& a, int64_t index) {
  const int64_t channels = a.x.channels() / a.groups, columns = a.y.channels() / a.groups;
  ConvArgs group = a;
  group.groups = 1;
  for (Tensor* t : {&group.x, &group.past}) *t = channel_view(*t, index * channels, channels);
  for (Tensor* t : {&group.y, &group.bias, &group.frameBias, &group.residual, &group.residual2})
    *t = channel_view(*t, index * columns, columns);
  group.weight.data = a.weight.as<std::byte>() + index * (a.weight.count() / a.groups) * bytes_of(a.weight.dtype);
  group.weight.dims[0] = columns;
  return group;
}

}  // namespace vd
