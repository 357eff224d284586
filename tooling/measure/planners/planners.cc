// What planners choose for rows on GPUs of several architectures, without a GPU. Reads lines of numbers: attributes and
// tensors, then a row as main.ts writes it. Prints a line per row and architecture: row, architecture, variant, bytes of working
// memory, launches, number of variants; tabs between.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "../../../packages/kernels-native/native/core/error.h"
#include "../../../packages/kernels-native/native/cuda/planning/planners.h"

using namespace vd;

namespace {

/** A device of an architecture: its image, multiprocessors, shared memory of a block, second-level cache. */
struct Architecture {
  const char* image;
  cuda::DeviceInfo device;
};

/** T4, A100, A10, L4, H100, B200, RTX 5090. Source: CUDA C++ Programming Guide, technical specifications per compute capability. */
const Architecture kArchitectures[] = {
    {"sm_75", {75, false, 40, 65536, size_t{4} << 20}},      {"sm_80", {80, false, 108, 166912, size_t{40} << 20}},
    {"sm_86", {86, false, 72, 101376, size_t{6} << 20}},     {"sm_89", {89, false, 58, 101376, size_t{48} << 20}},
    {"sm_90a", {90, true, 132, 232448, size_t{50} << 20}},   {"sm_100", {100, false, 148, 232448, size_t{126} << 20}},
    {"sm_120", {120, false, 170, 101376, size_t{96} << 20}},
};

/** The next tensor: present, constant, dtype, rank, sizes, pitch. Its address is aligned, and no other's. */
Tensor read_tensor(std::istream& in, uint64_t index) {
  Tensor t;
  int present = 0, constant = 0, dtype = 0;
  in >> present >> constant >> dtype >> t.rank;
  for (int64_t& size : t.dims) in >> size;
  in >> t.pitch;
  t.dtype = static_cast<DType>(dtype);
  t.constant = constant != 0;
  if (present) t.data = reinterpret_cast<void*>((index + 1) << 36);
  return t;
}

Row read_row(std::istream& in) {
  Row row;
  size_t numAttrs = 0, numTensors = 0;
  in >> numAttrs >> numTensors >> row.op;
  row.attrs.resize(numAttrs);
  for (double& value : row.attrs) in >> value;
  for (size_t i = 0; i < numTensors; ++i) row.tensors.push_back(read_tensor(in, i));
  return row;
}

void print_choice(size_t index, const Architecture& architecture, const Row& row) {
  try {
    const cuda::Candidates found = cuda::variants_of(row, architecture.device, {});
    const cuda::Variant& chosen = found.variants.front();
    std::printf("%zu\t%s\t%s\t%zu\t%zu\t%zu\n", index, architecture.image, chosen.name.c_str(), chosen.workspaceBytes,
                chosen.launches.size(), found.variants.size());
  } catch (const Error&) {
    std::printf("%zu\t%s\t\t0\t0\t0\n", index, architecture.image);
  }
}

}  // namespace

int main() {
  std::string line;
  for (size_t index = 0; std::getline(std::cin, line); ++index) {
    std::istringstream in(line);
    const Row row = read_row(in);
    for (Architecture architecture : kArchitectures) {
      architecture.device.hasTemplates = true;
      print_choice(index, architecture, row);
    }
  }
}
