// elementwise, interpreted: any program, a switch for each instruction.
//
// Plan: a thread loads the runs of all its operands before it uses the first, and keeps them as they lie in memory next to a stack of runs;
// of 16-bit types it asks for the next ones before it begins with these, since so many registers leave few warps to wait with.
// Registers have no index: a push moves the stack down, so that its top is always in the same place, and every pair of a function and
// the operand that it is given is a case of the switch, so that most programs push once. Instructions are the same for all threads:
// a branch does not diverge, and is paid once for eight elements. The program is two words in registers.
// Symbols: elementwise_<dtype>_program, elementwise_vector (operands of several types), elementwise_scalar (one element a thread).
#include "elementwise_runs.cuh"

using namespace vd::device;

namespace {

/** Keeps the compiler from unpacking all operands before the program runs, for which there are no registers. */
template <class T> __device__ __forceinline__ void keep_packed(Raw8<T>& raw) {
#pragma unroll
  for (uint4& q : raw.q) asm volatile("" : "+r"(q.x), "+r"(q.y), "+r"(q.z), "+r"(q.w));
}

/** Eight elements of an operand of a type that is known. */
template <class T> struct TypedRun {
  static constexpr int kWidth = 8;
  /** Whether a thread has registers for the next run beside this one. */
  static constexpr bool kAhead = sizeof(T) == 2;
  static constexpr bool kFast = sizeof(T) == 2;
  Raw8<T> raw;
  __device__ __forceinline__ void load(const ElementwiseOperand& o, int64_t at) { load_operand(o, at, raw); }
  __device__ __forceinline__ void keep() { keep_packed(raw); }
  __device__ __forceinline__ void values(int, float (&v)[8]) const { unpack_raw8<T>(raw, v); }
};

/** Eight elements of any float type. */
struct AnyRun {
  static constexpr int kWidth = 8;
  static constexpr bool kAhead = false;
  static constexpr bool kFast = false;
  Raw8<float> raw;  // of 16-bit types the first half
  __device__ __forceinline__ void load(const ElementwiseOperand& o, int64_t at) {
    if (o.type == kF32) return load_operand(o, at, raw);
    Raw8<__half> half;  // both 16-bit types are moved alike
    load_operand(o, at, half);
    raw.q[0] = half.q[0];
  }
  __device__ __forceinline__ void keep() { keep_packed(raw); }
  __device__ __forceinline__ void values(int type, float (&v)[8]) const {
    if (type == kF32) unpack_raw8<float>(raw, v);
    else if (type == kF16) unpack8<__half>(raw.q[0], v);
    else unpack8<__nv_bfloat16>(raw.q[0], v);
  }
};

/** One element. */
struct ScalarRun {
  static constexpr int kWidth = 1;
  static constexpr bool kAhead = false;
  static constexpr bool kFast = false;
  float value;
  __device__ __forceinline__ void load(const ElementwiseOperand& o, int64_t at) { value = load_any(o.data, o.type, at); }
  __device__ __forceinline__ void keep() {}
  __device__ __forceinline__ void values(int, float (&v)[1]) const { v[0] = value; }
};

/** What a thread has of a program that runs. */
template <class Run> struct Machine {
  static constexpr int kWidth = Run::kWidth;
  const ElementwiseParams& p;
  Run runs[kElementwiseOperands];
  float top[kWidth], second[kWidth], third[kWidth], fourth[kWidth];

  template <int kSource> __device__ __forceinline__ void source(float (&v)[kWidth]) const {
    if constexpr (kSource <= kD) {
      runs[kSource - kA].values(p.operands[kSource - kA].type, v);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) v[j] = p.constants[kSource - kK0];
    }
  }

  template <int kCode> __device__ __forceinline__ void execute() {
    if constexpr (kCode <= kK3) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        fourth[j] = third[j];
        third[j] = second[j];
        second[j] = top[j];
      }
      source<kCode>(top);
    } else if constexpr (kCode < kAdd) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) top[j] = unary<Run::kFast>(kCode, top[j]);
    } else if constexpr (kCode < kElementwiseFused) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        top[j] = binary<Run::kFast>(kCode, second[j], top[j]);
        second[j] = third[j];
        third[j] = fourth[j];
      }
    } else {
      constexpr int kFunction = kAdd + (kCode - kElementwiseFused) / kElementwiseSources;
      float v[kWidth];
      source<kA + (kCode - kElementwiseFused) % kElementwiseSources>(v);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) top[j] = binary<Run::kFast>(kFunction, top[j], v[j]);
    }
  }

  __device__ __forceinline__ void step(int code) {
#define VD_CODE(code) \
  case code: execute<code>(); break;
#define VD_CODES(first) \
  VD_CODE(first)        \
  VD_CODE(first + 1) VD_CODE(first + 2) VD_CODE(first + 3) VD_CODE(first + 4) VD_CODE(first + 5) VD_CODE(first + 6) VD_CODE(first + 7)
    switch (code) {
      VD_CODES(kA)
      VD_CODES(kNeg)
      VD_CODES(kNeg + 8)
      VD_CODES(kNeg + 16)
      VD_CODES(kNeg + 24)
      VD_CODES(kNeg + 32)
      VD_CODES(kNeg + 40)
      VD_CODES(kNeg + 48)
      VD_CODES(kNeg + 56)
      VD_CODE(kNeg + 64)
      VD_CODE(kNeg + 65)
      VD_CODE(kNeg + 66)
      VD_CODE(kNeg + 67)
    }
#undef VD_CODES
#undef VD_CODE
    static_assert(kNeg == kA + 8 && kNeg + 67 == kElementwiseFused + (kMax - kAdd + 1) * kElementwiseSources - 1, "every code has a case");
  }
};

/** The runs of all operands that there are. */
template <class Run>
__device__ __forceinline__ void load_runs(const ElementwiseParams& p, Run (&runs)[kElementwiseOperands], int64_t i, uint32_t clip,
                                          uint32_t frame) {
  const auto run = run_of<Run::kWidth>(p, i);
#pragma unroll
  for (int k = 0; k < kElementwiseOperands; ++k)
    if (p.operands[k].data != nullptr) runs[k].load(p.operands[k], run_offset(p.operands[k], run, clip, frame));
}

template <class Run> __device__ __forceinline__ void interpret(Machine<Run>& machine) {
  uint64_t now = machine.p.program[0], later = machine.p.program[1];
#pragma unroll 1
  while ((now & 255) != 0) {
#pragma unroll
    for (Run& each : machine.runs) each.keep();
    machine.step(static_cast<int>(now & 255));
    now = now >> 8 | later << 56;
    later >>= 8;
  }
}

template <class Run> __device__ __forceinline__ void elementwise_program(const ElementwiseParams& p) {
  constexpr int kWidth = Run::kWidth;
  const int64_t count = p.channels / kWidth * p.tokens;
  for_each_frame(p, [&](uint32_t clip, uint32_t frame) {
    int64_t i = first_run();
    Run ahead[kElementwiseOperands];
    if (Run::kAhead && i < count) load_runs(p, ahead, i, clip, frame);
    for (; i < count; i += run_step()) {
      Machine<Run> machine{p};
      if constexpr (Run::kAhead) {
#pragma unroll
        for (int k = 0; k < kElementwiseOperands; ++k) machine.runs[k] = ahead[k];
        if (i + run_step() < count) load_runs(p, ahead, i + run_step(), clip, frame);
      } else {
        load_runs(p, machine.runs, i, clip, frame);
      }
      interpret(machine);
      store_run(p.y, p.yType, result_offset(p, run_of<kWidth>(p, i), clip, frame), machine.top);
    }
  });
}

}  // namespace

#define VD_INTERPRETER(name, ...) \
  VD_KERNEL(elementwise_##name, ElementwiseParams, kInterpreterThreads, kInterpreterBlocks, elementwise_program<__VA_ARGS__>)
VD_INTERPRETER(f32_program, TypedRun<float>)
VD_INTERPRETER(f16_program, TypedRun<__half>)
VD_INTERPRETER(bf16_program, TypedRun<__nv_bfloat16>)
VD_INTERPRETER(vector, AnyRun)
VD_INTERPRETER(scalar, ScalarRun)
