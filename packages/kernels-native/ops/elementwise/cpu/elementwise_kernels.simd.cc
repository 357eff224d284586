// The program of elementwise over blocks of elements that stay in the first cache: what an instruction costs beyond its
// arithmetic is paid once a block.
#include "elementwise_kernels.h"

#include <algorithm>
#include <cmath>

#include "../../../native/cpu/simd/load.h"
#include "../../../native/cpu/simd/math.h"

namespace vd::cpu::VD_ISA {

/** Elements of a block. */
static constexpr int64_t kBlock = 256;

/** tanh: Lambert's continued fraction near 0, where 1 - 2 / (e^2x + 1) would cancel. */
static inline Vec tanh(Vec x) {
  const Vec one = Vec::all(1.0f), z = Vec::min(Vec::all(10.0f), Vec::abs(x)), s = z * z;
  Vec p = s + Vec::all(378.0f);
  p = Vec::fma(p, s, Vec::all(17325.0f));
  p = Vec::fma(p, s, Vec::all(135135.0f));
  Vec q = Vec::fma(s, Vec::all(28.0f), Vec::all(3150.0f));
  q = Vec::fma(q, s, Vec::all(62370.0f));
  q = Vec::fma(q, s, Vec::all(135135.0f));
  const Vec far = one - Vec::all(2.0f) * Vec::reciprocal(exp_in_range(z + z) + one);
  const Vec size = Vec::select_less(z, one, z * p * Vec::reciprocal(q), far);
  return Vec::select_less(x, Vec::zero(), Vec::zero() - size, size);
}

/** e^x that overflows to infinity. */
static inline Vec exp_of(Vec x) {
  const Vec most = Vec::all(88.72f);
  return Vec::select_less(most, x, Vec::all(__builtin_inff()), exp(Vec::min(most, x)));
}

template <class Function> static inline void replace(float* x, int64_t n, Function function) {
  for (int64_t i = 0; i < n; i += Vec::kWidth) function(Vec::load(x + i)).store(x + i);
}

template <class Function> static inline void combine(float* x, const float* y, int64_t n, Function function) {
  for (int64_t i = 0; i < n; i += Vec::kWidth) function(Vec::load(x + i), Vec::load(y + i)).store(x + i);
}

/** For functions that have no vector form here. */
template <class Function> static inline void replace_each(float* x, int64_t n, Function function) {
  for (int64_t i = 0; i < n; ++i) x[i] = function(x[i]);
}

static void unary(Instruction instruction, float* x, int64_t n) {
  switch (instruction) {
    case Instruction::neg: return replace(x, n, [](Vec v) { return Vec::zero() - v; });
    case Instruction::abs: return replace(x, n, [](Vec v) { return Vec::abs(v); });
    case Instruction::square: return replace(x, n, [](Vec v) { return v * v; });
    case Instruction::sqrt: return replace_each(x, n, [](float v) { return __builtin_sqrtf(v); });
    case Instruction::rsqrt: return replace_each(x, n, [](float v) { return 1.0f / __builtin_sqrtf(v); });
    case Instruction::exp: return replace(x, n, [](Vec v) { return exp_of(v); });
    case Instruction::log: return replace_each(x, n, [](float v) { return std::log(v); });
    case Instruction::sigmoid: return replace(x, n, [](Vec v) { return sigmoid(v); });
    case Instruction::tanh: return replace(x, n, [](Vec v) { return tanh(v); });
    case Instruction::relu: return replace(x, n, [](Vec v) { return Vec::max(v, Vec::zero()); });
    case Instruction::silu: return replace(x, n, [](Vec v) { return silu(v); });
    case Instruction::gelu: return replace(x, n, [](Vec v) { return gelu(v); });
    case Instruction::gelu_tanh: return replace(x, n, [](Vec v) { return gelu_tanh(v); });
    default: return replace(x, n, [](Vec v) { return quick_gelu(v); });
  }
}

static void binary(Instruction instruction, float* x, const float* y, int64_t n) {
  switch (instruction) {
    case Instruction::add: return combine(x, y, n, [](Vec a, Vec b) { return a + b; });
    case Instruction::sub: return combine(x, y, n, [](Vec a, Vec b) { return a - b; });
    case Instruction::mul: return combine(x, y, n, [](Vec a, Vec b) { return a * b; });
    case Instruction::div: return combine(x, y, n, [](Vec a, Vec b) { return a / b; });
    case Instruction::min: return combine(x, y, n, [](Vec a, Vec b) { return Vec::select_nan(b, a, Vec::min(a, b)); });
    default: return combine(x, y, n, [](Vec a, Vec b) { return Vec::select_nan(b, a, Vec::max(a, b)); });
  }
}

static void fill(float* x, int64_t n, float value) {
  for (int64_t i = 0; i < n; i += Vec::kWidth) Vec::all(value).store(x + i);
}

/** The elements of an operand from `first` on; whole vectors, zeros behind the last. */
static void push(float* x, const float* operand, int64_t n) {
  for (int64_t i = 0; i < n; i += Vec::kWidth) {
    __builtin_prefetch(operand + i + kAhead);
    load_n(operand + i, n - i).store(x + i);
  }
}

static void evaluate(const ElementwiseRun& run, const Instruction* code, int length, const float* constants) {
  alignas(64) float stack[4][kBlock];
  for (int64_t first = 0; first < run.count; first += kBlock) {
    const int64_t n = std::min(kBlock, run.count - first);
    int depth = 0;
    for (int i = 0; i < length && code[i] != Instruction::end; ++i) {
      const int number = static_cast<int>(code[i]);
      if (code[i] < Instruction::k0) {
        const int operand = number - static_cast<int>(Instruction::a);
        if (run.one[operand]) fill(stack[depth++], n, *run.operands[operand]);
        else push(stack[depth++], run.operands[operand] + first, n);
      } else if (code[i] < Instruction::neg) {
        fill(stack[depth++], n, constants[number - static_cast<int>(Instruction::k0)]);
      } else if (code[i] < Instruction::add) {
        unary(code[i], stack[depth - 1], n);
      } else {
        --depth;
        binary(code[i], stack[depth - 1], stack[depth], n);
      }
    }
    for (int64_t i = 0; i < n; i += Vec::kWidth) store_n(Vec::load(stack[0] + i), run.y + first + i, n - i);
  }
}

const ElementwiseKernels elementwise_kernels = {.evaluate = evaluate};

}  // namespace vd::cpu::VD_ISA
