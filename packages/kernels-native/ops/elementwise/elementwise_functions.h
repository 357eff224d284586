// Functions of expressions by name: kernels that are completed on the user's machine call them so.
#pragma once
#include "elementwise_params.h"

/** X(name, code) for every function of one number, in the order of their codes. */
#define VD_ELEMENTWISE_UNARY(X) \
  X(neg, kNeg)                  \
  X(abs, kAbs)                  \
  X(square, kSquare)            \
  X(sqrt, kSqrt)                \
  X(rsqrt, kRsqrt)              \
  X(exp, kExp)                  \
  X(log, kLog)                  \
  X(sigmoid, kSigmoid)          \
  X(tanh, kTanh)                \
  X(relu, kReluOf)              \
  X(silu, kSiluOf)              \
  X(gelu, kGeluOf)              \
  X(gelu_tanh, kGeluTanhOf)     \
  X(quick_gelu, kQuickGeluOf)

/** X(name, code) for every function of two numbers, in the order of their codes. */
#define VD_ELEMENTWISE_BINARY(X) \
  X(add, kAdd)                   \
  X(sub, kSub)                   \
  X(mul, kMul)                   \
  X(div, kDiv)                   \
  X(min, kMin)                   \
  X(max, kMax)
