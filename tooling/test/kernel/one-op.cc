// Computes an op of one operand by its definition over the numbers on the command line and prints the results. Built by
// new-op.test.ts with VD_ARGS and VD_REFERENCE, the op's struct and function.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "native/cpu/reference.h"

namespace {

vd::Tensor tensor_of(std::vector<float>& values) {
  vd::Tensor t;
  t.data = values.data();
  t.dtype = vd::DType::f32;
  t.rank = 4;
  for (int i = 0; i < 4; ++i) t.dims[i] = i == 3 ? static_cast<int64_t>(values.size()) : 1;
  t.pitch = t.channels();
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<float> x, y(static_cast<size_t>(argc - 1));
  for (int i = 1; i < argc; ++i) x.push_back(std::strtof(argv[i], nullptr));
  vd::VD_ARGS args{};
  args.x = tensor_of(x);
  args.y = tensor_of(y);
  vd::ThreadPool pool(1);
  vd::cpu::VD_REFERENCE(args, pool);
  for (const float value : y) std::printf("%.9g\n", static_cast<double>(value));
}
