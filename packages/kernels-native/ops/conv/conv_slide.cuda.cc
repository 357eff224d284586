// Plans the kernels that slide down columns: filters of the usual sizes for every channel or for groups of four.
#include <algorithm>
#include <utility>

#include "../../native/cuda/planning/epilogue.h"
#include "conv_plans.h"

namespace vd {

namespace {

using namespace device;

/** A form of the kernel: what its name says behind the filter, columns of results and channels of a warp, blocks that a Hopper
 *  multiprocessor holds. */
struct SlideForm {
  const char* suffix;
  int64_t columns, channels, blocks;
};

/** Why the row has no such kernel, whatever the form. */
cuda::Reason slide_reason(const ConvArgs& a, int64_t group) {
  const int64_t rows = a.weight.dim(3), columns = a.weight.dim(4);
  const bool groups = a.groups * group == a.x.channels() && a.groups * group == a.y.channels();
  const bool filter = rows == columns && (rows == 3 || (rows == 5 && group == 1)) && (a.weight.dim(2) == 1 || group == 1);
  const bool step = a.stride[1] == a.stride[2] && a.stride[1] <= 2;
  return cuda::first_of({cuda::if_so(!groups && group == 1, {"is for a filter for every channel"}),
                         cuda::if_so(!groups, {"is for groups of # channels to as many", {group}}),
                         cuda::if_so(!filter && group == 1, {"is for filters of 3x3 and 5x5"}),
                         cuda::if_so(!filter, {"is for filters of 1x3x3"}),
                         cuda::if_so(!step || a.upsample, {"has the same steps of 1 or 2 down and across, and no upsampling"}),
                         cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.past, "past", 8, true),
                         cuda::typed_epilogue_reason(cuda::epilogue_operands(a), a.x.dtype)});
}

/** Rows of a strip. Fewer are more lines that are read twice, more leave multiprocessors without work at the end: the cost is that of the
 *  lines which a warp's place takes one after the other, half a strip for the end included. */
int64_t strip_rows(const ConvArgs& a, const SlideForm& form, int64_t stripsAcross, const cuda::DeviceInfo& device) {
  constexpr double kFirstLines = 2;  // the time until the first line is there, in lines
  const int64_t height = a.y.dim(2);
  const double places = static_cast<double>(int64_t{device.numSms} * form.blocks * kSlideWarps);
  int64_t best = height;
  double least = 0;
  for (int64_t down = 1; down <= height; ++down) {
    const int64_t rows = cuda::ceil_div(height, down);
    const double strips = static_cast<double>(stripsAcross * cuda::ceil_div(height, rows));
    const double lines = static_cast<double>((rows - 1) * a.stride[1] + a.weight.dim(3)) + kFirstLines;
    const double cost = lines * (std::max(1.0, strips / places) + 0.5);
    if (down > 1 && cost >= least) continue;
    least = cost;
    best = rows;
  }
  return best;
}

cuda::Variant slide_variant(const ConvArgs& a, const std::string& symbol, const SlideForm& form, const cuda::DeviceInfo& device) {
  ConvGroupsParams p = conv_groups_params(a);
  const int64_t across = a.y.dim(0) * a.y.dim(1) * cuda::ceil_div(a.y.dim(3), form.columns) * cuda::ceil_div(a.y.channels(), form.channels);
  p.stripRows = static_cast<int32_t>(strip_rows(a, form, across, device));
  p.items = across * cuda::ceil_div(a.y.dim(2), p.stripRows);
  cuda::Variant variant = conv_groups_variant(a, p, conv_groups_pack(a), symbol, 32 * kSlideWarps, cuda::ceil_div(p.items, kSlideWarps));
  give_float_bias(a, variant);
  variant.launches.back().overlapped = device.smVersion >= 90;
  return variant;
}

/** Adds a kernel's forms for 64 channels and for 16 a warp, the one with fewer lanes that have no channel first. columns: of a lane. */
void add_forms(const ConvArgs& a, const std::string& name, int64_t columns, int64_t blocks, const cuda::DeviceInfo& device,
               cuda::Candidates& out) {
  const auto lanes = [&](int64_t channels) { return cuda::ceil_div(a.y.channels(), channels) * channels; };
  SlideForm forms[] = {{"_", columns, 64, blocks}, {"_c16_", 4 * columns, 16, blocks}};
  // A quarter of idle lanes costs less than lines of 16 channels, which are shorter pieces of memory.
  if (4 * lanes(64) > 5 * lanes(16)) std::swap(forms[0], forms[1]);
  const std::string type = cuda::type_name(a.x.dtype);
  for (const SlideForm& form : forms) out.add(slide_variant(a, name + form.suffix + type, form, device));
}

/** The kernel for filters for every channel: its name, a lane's columns of results, blocks of a multiprocessor. */
void add_depthwise(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const bool one = a.weight.dim(2) == 1, three = a.weight.dim(2) == 3, second = a.stride[1] == 2;
  const std::string step = second ? "s2" : "s1";
  if (a.weight.dim(3) == 3) {
    const std::string filter = one ? "3x3" : three ? "3x3x3" : "Tx3x3";
    add_forms(a, "conv_depthwise_" + filter + step, 8, one ? 4 : 3, device, out);
  } else {
    const std::string filter = one ? "5x5" : "Tx5x5";
    add_forms(a, "conv_depthwise_" + filter + step, one && second ? 4 : 8, one && second ? 4 : 2, device, out);
  }
}

}  // namespace

void add_conv_slide(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (out.allows({"conv_depthwise_NxNsS_*"}, slide_reason(a, 1))) add_depthwise(a, device, out);
  if (out.allows({"conv_fours_NxNsS_*"}, slide_reason(a, 4)))
    add_forms(a, a.stride[1] == 2 ? "conv_fours_3x3s2" : "conv_fours_3x3s1", 8, 2, device, out);
}

}  // namespace vd
