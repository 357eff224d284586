// Prints the kernels that the planners would consider for float32 rows, one row a line: name, tab, variants.
// candidates SM_VERSION. Built by planners.test.ts.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../../native/generated/op_planners.h"

using namespace vd;

namespace {

/** A tensor at an aligned address, with nothing behind it. */
Tensor tensor(std::initializer_list<int64_t> dims, DType type = DType::f32) {
  Tensor t;
  t.data = reinterpret_cast<void*>(uintptr_t{4096});
  t.dtype = type;
  t.rank = static_cast<int>(dims.size());
  int i = 0;
  for (const int64_t size : dims) t.dims[i++] = size;
  t.pitch = t.channels();
  t.constant = true;
  return t;
}

LinearArgs linear(int64_t tokens, int64_t channels, int64_t columns, DType weightType) {
  LinearArgs a{};
  a.x = tensor({1, 1, tokens, channels});
  a.weight = tensor({columns, channels}, weightType);
  a.y = tensor({1, 1, tokens, columns});
  a.outScale = 1;
  return a;
}

ConvArgs conv(int64_t size, int64_t channels, int64_t columns, DType weightType) {
  ConvArgs a{};
  a.x = tensor({1, 1, size, size, channels});
  a.weight = tensor({columns, channels, 1, 3, 3}, weightType);
  a.y = tensor({1, 1, size, size, columns});
  for (int i = 0; i < 3; ++i) a.stride[i] = 1;
  for (int i = 2; i < 6; ++i) a.padding[i] = 1;
  a.outScale = 1;
  return a;
}

AttentionArgs attention(int64_t tokens, int64_t dim) {
  AttentionArgs a{};
  a.q = a.k = a.v = a.y = tensor({1, 1, tokens, dim});
  a.heads = 1;
  a.scale = 1;
  return a;
}

void print(const char* name, const std::vector<cuda::Plan>& plans) {
  std::string line = name;
  for (size_t i = 0; i < plans.size(); ++i) line += (i ? " " : "\t") + plans[i].variant;
  std::puts(line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  cuda::DeviceInfo device;
  device.smVersion = argc > 1 ? std::atoi(argv[1]) : 80;
  device.hasWgmma = device.smVersion == 90;
  device.numSms = 100;
  device.sharedBytesPerBlock = 101376;  // the least of the architectures from sm_80 on
  print("linear f32", plan_linear_cuda(linear(9216, 512, 1536, DType::f32), device));
  print("linear f16", plan_linear_cuda(linear(9216, 512, 1536, DType::f16), device));
  print("linear bf16", plan_linear_cuda(linear(9216, 512, 1536, DType::bf16), device));
  print("linear few tokens", plan_linear_cuda(linear(64, 512, 1536, DType::f32), device));
  print("linear odd", plan_linear_cuda(linear(64, 511, 16, DType::f16), device));
  LinearArgs gated = linear(64, 512, 38, DType::f32);
  gated.act = Activation::geglu;
  gated.y = tensor({1, 1, 64, 19});
  print("linear geglu of 38", plan_linear_cuda(gated, device));
  print("conv f16", plan_conv_cuda(conv(144, 512, 512, DType::f16), device));
  print("conv 4 channels", plan_conv_cuda(conv(144, 4, 128, DType::f32), device));
  print("conv 3 channels", plan_conv_cuda(conv(144, 3, 128, DType::f32), device));
  for (const int64_t dim : {40, 80, 160, 512})
    print(("attention d" + std::to_string(dim)).c_str(), plan_attention_cuda(attention(100, dim), device));
  print("attention 25 tokens", plan_attention_cuda(attention(25, 64), device));
}
