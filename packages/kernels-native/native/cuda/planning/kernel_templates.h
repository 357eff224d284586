// PTX text of kernels with a place for an expression, and the text of one whose place is filled. Knows no driver.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launch.h"

namespace vd::cuda {

/** The kernels and functions of the PTX text that nvcc makes of `*.template.cu`. A kernel has places, `VD_EXPRESSION result, inputs...;`
 * with registers of float32. Functions take and return float32, and have their one `ret` at the end. */
class KernelTemplates {
 public:
  explicit KernelTemplates(std::string_view text);

  /** The text of one kernel in which the expression stands at every place: functions as their own instructions, none is called. Products
   * and sums are rounded one by one, so that the bits follow from the functions and not from what a driver joins. Throws Error(unsupported)
   * for a kernel or a function that the text lacks. */
  std::string complete(const std::string& kernel, const Expression& expression) const;

 private:
  using Lines = std::vector<std::string>;
  void write_expression(std::string_view place, const Expression& expression, std::string& out) const;

  Lines header_;
  /** All lines of each kernel, and of functions those within their braces. */
  std::map<std::string, Lines, std::less<>> kernels_, functions_;
};

}  // namespace vd::cuda
