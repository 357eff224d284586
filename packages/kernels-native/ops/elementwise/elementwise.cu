// elementwise: a small program for each element.
//
// Plan: a form (elementwise_forms.h) is compiled into straight code for operands of one type: 16 bytes
// or 32 of each operand a thread, all loads before the first use. Any other program is interpreted: every thread keeps its operands and a
// stack in registers, whose places are known at compile time, since a push moves the stack down; a branch for an instruction is the same
// for all threads and is paid once for eight elements. grid.y counts frames, so that one division of 32 bits tells tokens from channels.
// Symbols: elementwise_<dtype>_<form>, elementwise_vector, elementwise_scalar (interpreted, any types).
#include "../../device/activation.cuh"
#include "../../device/elementwise.cuh"
#include "elementwise_forms.h"

using namespace vd::device;

namespace {

/** kFast: for 16-bit results. */
template <bool kFast> __device__ __forceinline__ float unary(int code, float x) {
  switch (code) {
    case kNeg: return -x;
    case kAbs: return fabsf(x);
    case kSquare: return x * x;
    case kSqrt: return sqrtf(x);
    case kRsqrt: return rsqrtf(x);
    case kExp: return expf(x);
    case kLog: return logf(x);
    case kSigmoid: return sigmoid(x);
    case kTanh: return tanhf(x);
    case kRelu: return fmaxf(x, 0.0f);
    case kSiluOf: return silu(x);
    case kGeluOf: return kFast ? gelu_fast(x) : gelu(x);
    case kGeluTanhOf: return gelu_tanh(x);
    default: return quick_gelu(x);
  }
}

__device__ __forceinline__ float binary(int code, float x, float y) {
  switch (code) {
    case kAdd: return x + y;
    case kSub: return x - y;
    case kMul: return x * y;
    case kDiv: return x / y;
    case kMin: return fminf(x, y);
    default: return fmaxf(x, y);
  }
}

/** Where an operand's numbers for a frame start. */
__device__ __forceinline__ int64_t frame_offset(const ElementwiseOperand& o, uint32_t clip, uint32_t frame) {
  return clip * o.clipStride + frame * o.frameStride;
}

/** A run of kWidth channels of a frame. */
struct Run {
  uint32_t token;
  int64_t channel;
};

/** The i-th run of a frame. Of one token, and of single channels, there may be more than 2^32. */
template <int kWidth> __device__ __forceinline__ Run run_of(const ElementwiseParams& p, int64_t i) {
  if (p.tokens == 1) return {0, i * kWidth};
  if constexpr (kWidth == 1) return {static_cast<uint32_t>(i / p.channels), i % p.channels};
  const uint32_t runs = static_cast<uint32_t>(p.channels / kWidth), token = static_cast<uint32_t>(i) / runs;
  return {token, static_cast<int64_t>(static_cast<uint32_t>(i) - token * runs) * kWidth};
}

/** Calls body(run, clip, frame) for this thread's runs, `kCount` of them at a time. */
template <int kWidth, int kCount, class Body> __device__ __forceinline__ void for_each_run(const ElementwiseParams& p, Body&& body) {
  const int64_t count = p.channels / kWidth * p.tokens, step = static_cast<int64_t>(gridDim.x) * blockDim.x * kCount;
  for (uint32_t y = blockIdx.y; y < p.clips * p.frames; y += gridDim.y)
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x * kCount + threadIdx.x; i < count; i += step)
      body(i, count, y / p.frames, y % p.frames);
}

// ---- forms -----------------------------------------------------------------------------------------------------------------

/** The highest operand of a form, counted from 1. */
constexpr int operands_of(const ElementwiseForm& form) {
  int most = 0;
  for (const uint8_t code : form.code)
    if (code >= kA && code <= kD && code - kA + 1 > most) most = code - kA + 1;
  return most;
}

/** How many operands a form has. */
template <int kForm> inline constexpr int kFormOperands = operands_of(kElementwiseForms[kForm]);

/** Runs the instructions of a form from kAt on; kDepth numbers are on the stack. Everything but the arithmetic is done by the
 *  compiler. */
template <int kForm, bool kFast, int kAt, int kDepth, int kOperands>
__device__ __forceinline__ void evaluate(const float (&x)[kOperands][8], const float* constants, float (&stack)[4][8]) {
  constexpr int kCode = kAt < kElementwiseLength ? kElementwiseForms[kForm].code[kAt] : kEnd;
  if constexpr (kCode == kEnd) {
    static_assert(kDepth == 1, "a form leaves one number");
  } else if constexpr (kCode <= kK3) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if constexpr (kCode <= kD) stack[kDepth][j] = x[kCode - kA][j];
      else stack[kDepth][j] = constants[kCode - kK0];
    }
    evaluate<kForm, kFast, kAt + 1, kDepth + 1>(x, constants, stack);
  } else if constexpr (kCode < kAdd) {
#pragma unroll
    for (int j = 0; j < 8; ++j) stack[kDepth - 1][j] = unary<kFast>(kCode, stack[kDepth - 1][j]);
    evaluate<kForm, kFast, kAt + 1, kDepth>(x, constants, stack);
  } else {
#pragma unroll
    for (int j = 0; j < 8; ++j) stack[kDepth - 2][j] = binary(kCode, stack[kDepth - 2][j], stack[kDepth - 1][j]);
    evaluate<kForm, kFast, kAt + 1, kDepth - 1>(x, constants, stack);
  }
}

/** Eight elements of an operand as they lie in memory. One element for all is repeated. */
template <class T> __device__ __forceinline__ void load_operand(const ElementwiseOperand& o, int64_t at, Raw8<T>& raw) {
  if (o.channelStride != 0) {
    load_raw8(static_cast<const T*>(o.data) + at, raw);
    return;
  }
  const T one = static_cast<const T*>(o.data)[at];
  uint32_t word;
  if constexpr (sizeof(T) == 4) {
    word = __float_as_uint(one);
  } else {
    const uint16_t half = *reinterpret_cast<const uint16_t*>(&one);
    word = half | static_cast<uint32_t>(half) << 16;
  }
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) raw.q[i] = make_uint4(word, word, word, word);
}

template <class T, int kForm> __device__ __forceinline__ void elementwise_form(const ElementwiseParams& p) {
  constexpr int kOperands = kFormOperands<kForm>, kRuns = kElementwiseFormBytes / sizeof(T);
  for_each_run<8, kRuns>(p, [&](int64_t first, int64_t count, uint32_t clip, uint32_t frame) {
    Raw8<T> raw[kRuns][kOperands];
#pragma unroll
    for (int u = 0; u < kRuns; ++u) {
      if (first + u * blockDim.x >= count) continue;
      const Run run = run_of<8>(p, first + u * blockDim.x);
#pragma unroll
      for (int k = 0; k < kOperands; ++k) {
        const ElementwiseOperand& o = p.operands[k];
        load_operand(o, frame_offset(o, clip, frame) + run.token * o.tokenStride + run.channel * o.channelStride, raw[u][k]);
      }
    }
#pragma unroll
    for (int u = 0; u < kRuns; ++u) {
      if (first + u * blockDim.x >= count) continue;
      const Run run = run_of<8>(p, first + u * blockDim.x);
      float x[kOperands][8], stack[4][8];
#pragma unroll
      for (int k = 0; k < kOperands; ++k) unpack_raw8<T>(raw[u][k], x[k]);
      evaluate<kForm, sizeof(T) == 2, 0, 0>(x, p.constants, stack);
      const int64_t token = (static_cast<int64_t>(clip) * p.frames + frame) * p.tokens + run.token;
      store8(static_cast<T*>(p.y) + token * p.yPitch + run.channel, stack[0]);
    }
  });
}

// ---- interpreter -----------------------------------------------------------------------------------------------------------

/** A stack of runs of elements in registers: the top is always in the same place. */
template <int kWidth> struct Stack {
  float top[kWidth], second[kWidth], third[kWidth], fourth[kWidth];

  __device__ __forceinline__ void push(const float (&v)[kWidth]) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      fourth[j] = third[j];
      third[j] = second[j];
      second[j] = top[j];
      top[j] = v[j];
    }
  }
  template <class Function> __device__ __forceinline__ void replace(Function function) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) top[j] = function(top[j]);
  }
  template <class Function> __device__ __forceinline__ void combine(Function function) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      top[j] = function(second[j], top[j]);
      second[j] = third[j];
      third[j] = fourth[j];
    }
  }
};

template <int kWidth> __device__ __forceinline__ void step(Stack<kWidth>& stack, int code) {
#define VD_UNARY(kind) \
  case kind: stack.replace([](float v) { return unary<false>(kind, v); }); break;
#define VD_BINARY(kind) \
  case kind: stack.combine([](float v, float w) { return binary(kind, v, w); }); break;
  switch (code) {
    VD_UNARY(kNeg)
    VD_UNARY(kAbs)
    VD_UNARY(kSquare)
    VD_UNARY(kSqrt)
    VD_UNARY(kRsqrt)
    VD_UNARY(kExp)
    VD_UNARY(kLog)
    VD_UNARY(kSigmoid)
    VD_UNARY(kTanh)
    VD_UNARY(kRelu)
    VD_UNARY(kSiluOf)
    VD_UNARY(kGeluOf)
    VD_UNARY(kGeluTanhOf)
    VD_UNARY(kQuickGeluOf)
    VD_BINARY(kAdd)
    VD_BINARY(kSub)
    VD_BINARY(kMul)
    VD_BINARY(kDiv)
    VD_BINARY(kMin)
    VD_BINARY(kMax)
  }
#undef VD_UNARY
#undef VD_BINARY
}

template <int kWidth> __device__ __forceinline__ void elementwise_interpreted(const ElementwiseParams& p) {
  for_each_run<kWidth, 1>(p, [&](int64_t i, int64_t, uint32_t clip, uint32_t frame) {
    const Run run = run_of<kWidth>(p, i);
    float x[kElementwiseOperands][kWidth];
#pragma unroll
    for (int k = 0; k < kElementwiseOperands; ++k) {
      const ElementwiseOperand& o = p.operands[k];
      if (o.data == nullptr) continue;
      const int64_t at = frame_offset(o, clip, frame) + run.token * o.tokenStride + run.channel * o.channelStride;
      if (o.channelStride != 0) {
        load_run(o.data, o.type, at, x[k]);
      } else {
        const float one = load_any(o.data, o.type, at);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) x[k][j] = one;
      }
    }
    Stack<kWidth> stack{};
#pragma unroll 1
    for (int pc = 0; pc < kElementwiseLength; ++pc) {
      const int code = p.code[pc];
      if (code == kEnd) break;
      if (code <= kD) {
        // Registers have no index.
        if (code == kA) stack.push(x[0]);
        else if (code == kB) stack.push(x[1]);
        else if (code == kC) stack.push(x[2]);
        else stack.push(x[3]);
      } else if (code <= kK3) {
        float constant[kWidth];
#pragma unroll
        for (int j = 0; j < kWidth; ++j) constant[j] = p.constants[code - kK0];
        stack.push(constant);
      } else {
        step(stack, code);
      }
    }
    const int64_t token = (static_cast<int64_t>(clip) * p.frames + frame) * p.tokens + run.token;
    store_run(p.y, p.yType, token * p.yPitch + run.channel, stack.top);
  });
}

/** Positions of the forms in their table. */
enum FormIndex : int {
#define VD_INDEX(name, ...) kForm_##name,
  VD_ELEMENTWISE_FORMS(VD_INDEX)
#undef VD_INDEX
};

}  // namespace

#define VD_FORM_KERNELS(name, ...)                                                                     \
  VD_KERNEL(elementwise_f32_##name, ElementwiseParams, 256, 4, elementwise_form<float, kForm_##name>)  \
  VD_KERNEL(elementwise_f16_##name, ElementwiseParams, 256, 4, elementwise_form<__half, kForm_##name>) \
  VD_KERNEL(elementwise_bf16_##name, ElementwiseParams, 256, 4, elementwise_form<__nv_bfloat16, kForm_##name>)
VD_ELEMENTWISE_FORMS(VD_FORM_KERNELS)
VD_KERNEL(elementwise_vector, ElementwiseParams, 256, 2, elementwise_interpreted<8>)
VD_KERNEL(elementwise_scalar, ElementwiseParams, 256, 4, elementwise_interpreted<1>)
