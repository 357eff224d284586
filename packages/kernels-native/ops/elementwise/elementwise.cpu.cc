// The definition of elementwise: the program on a stack, element by element.
#include <algorithm>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

float unary(Instruction instruction, float x) {
  switch (instruction) {
    case Instruction::neg: return -x;
    case Instruction::abs: return std::fabs(x);
    case Instruction::square: return x * x;
    case Instruction::sqrt: return std::sqrt(x);
    case Instruction::rsqrt: return 1.0f / std::sqrt(x);
    case Instruction::exp: return std::exp(x);
    case Instruction::log: return std::log(x);
    case Instruction::sigmoid: return 1.0f / (1.0f + std::exp(-x));
    case Instruction::tanh: return std::tanh(x);
    case Instruction::relu: return x > 0 ? x : 0;
    case Instruction::silu: return activate(Activation::silu, x);
    case Instruction::gelu: return activate(Activation::gelu, x);
    case Instruction::gelu_tanh: return activate(Activation::gelu_tanh, x);
    default: return activate(Activation::quick_gelu, x);
  }
}

float binary(Instruction instruction, float x, float y) {
  switch (instruction) {
    case Instruction::add: return x + y;
    case Instruction::sub: return x - y;
    case Instruction::mul: return x * y;
    case Instruction::div: return x / y;
    case Instruction::min: return std::fmin(x, y);
    default: return std::fmax(x, y);
  }
}

float element(const ElementwiseArgs& a, int64_t i, int64_t c) {
  const Tensor* operands[] = {&a.a, &a.b, &a.c, &a.d};
  float stack[4];
  int depth = 0;
  for (const Instruction instruction : a.code) {
    if (instruction == Instruction::end) break;
    if (instruction < Instruction::k0) {
      const Tensor& t = *operands[static_cast<int>(instruction) - static_cast<int>(Instruction::a)];
      stack[depth++] = at(t, broadcast_pixel(t, a.a, i), t.channels() == 1 ? 0 : c);
    } else if (instruction < Instruction::neg) {
      stack[depth++] = a.constants[static_cast<int>(instruction) - static_cast<int>(Instruction::k0)];
    } else if (instruction < Instruction::add) {
      stack[depth - 1] = unary(instruction, stack[depth - 1]);
    } else {
      --depth;
      stack[depth - 1] = binary(instruction, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

}  // namespace

void elementwise_reference(const ElementwiseArgs& a, ThreadPool& pool) {
  pool.parallel_for(a.a.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < a.a.channels(); ++c) put(a.y, i, c, element(a, i, c));
  });
}

}  // namespace vd::cpu
