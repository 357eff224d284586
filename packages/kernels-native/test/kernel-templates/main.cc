// Completes kernels as a plan does: kernel-templates TEXT FOLDER reads a program a line, the element type and then instructions by name,
// and writes the text of the kernel that the driver would compile to FOLDER/<line>.ptx. Built by kernel-templates.test.ts.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "../../native/cuda/planning/kernel_templates.h"
#include "../../native/generated/op_planners.h"

using namespace vd;

namespace {

Tensor tensor(DType type) {
  Tensor t;
  t.data = reinterpret_cast<void*>(uintptr_t{4096});
  t.dtype = type;
  t.rank = 4;
  for (int64_t& size : t.dims) size = 1;
  t.dims[2] = 10;
  t.dims[3] = t.pitch = 64;
  return t;
}

/** The launch of the compiled kernel of a program. */
cuda::Launch launch_of(const std::string& line) {
  std::istringstream words(line);
  int type = 0, code = 0;
  words >> type;
  ElementwiseArgs a{};
  a.a = a.b = a.c = a.d = a.y = tensor(static_cast<DType>(type));
  for (Instruction& each : a.code)
    if (words >> code) each = static_cast<Instruction>(code);
  cuda::DeviceInfo device;
  device.hasTemplates = true;
  cuda::Candidates found = elementwise_cuda_variants(a, device, {});
  const auto is_compiled = [](const cuda::Variant& variant) { return variant.name.ends_with("_compiled"); };
  return std::find_if(found.variants.begin(), found.variants.end(), is_compiled)->launches[0];
}

std::string read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int, char** argv) {
  const cuda::KernelTemplates templates(read(argv[1]));
  int number = 0;
  for (std::string line; std::getline(std::cin, line); ++number) {
    const cuda::Launch launch = launch_of(line);
    std::ofstream(std::string(argv[2]) + "/" + std::to_string(number) + ".ptx") << templates.complete(launch.symbol, *launch.expression);
  }
}
