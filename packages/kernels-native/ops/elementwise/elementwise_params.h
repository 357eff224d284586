// Parameters of the elementwise kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

inline constexpr int kElementwiseOperands = 4, kElementwiseConstants = 4, kElementwiseLength = 16;

/** Threads of a block: of kernels that have a program in their code, and of those that interpret one. */
inline constexpr int kElementwiseThreads = 256, kInterpreterThreads = 128;
/** Blocks of a multiprocessor that interpret at once, and how many of them take turns: each loads a thread's next elements early. */
inline constexpr int kInterpreterBlocks = 4, kInterpreterRounds = 8;

/** Instructions in the order of vd::Instruction. */
enum ElementwiseCode : uint8_t {
  kEnd,
  kA,
  kB,
  kC,
  kD,
  kK0,
  kK1,
  kK2,
  kK3,
  kNeg,
  kAbs,
  kSquare,
  kSqrt,
  kRsqrt,
  kExp,
  kLog,
  kSigmoid,
  kTanh,
  kReluOf,
  kSiluOf,
  kGeluOf,
  kGeluTanhOf,
  kQuickGeluOf,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax
};

/** Codes of an interpreted program from here on: a function of two numbers whose second one is an operand or a constant, instead of
 *  that being pushed before. */
inline constexpr int kElementwiseFused = kMax + 1;
/** Operands and constants that there are. */
inline constexpr int kElementwiseSources = kK3 - kA + 1;
/** The code of `function` with `source`. */
constexpr int fused_code(int function, int source) { return kElementwiseFused + (function - kAdd) * kElementwiseSources + source - kA; }

/** An operand whose sizes are those of the result or 1; strides are in elements, 0 where it is broadcast. */
struct ElementwiseOperand {
  const void* data;
  int64_t clipStride, frameStride, tokenStride;
  int32_t channelStride;  // 1 or 0
  int32_t type;
};

/** y = the program's result for each element of [clips · frames, tokens, channels]. */
struct ElementwiseParams {
  ElementwiseOperand operands[kElementwiseOperands];
  void* y;
  int64_t yPitch;
  int64_t channels;  // all of the result's elements where nothing tells its tokens apart: then there is one token
  uint32_t clips, frames, tokens;
  int32_t yType;
  float constants[kElementwiseConstants];
  uint64_t program[2];  // of the interpreter: codes of eight bits, the first lowest
};
static_assert(sizeof(ElementwiseParams::program) == kElementwiseLength);

}  // namespace vd::device
