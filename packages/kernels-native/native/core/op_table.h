// The op contract as plain data, generated from ops/*/*.op.ts, and the types it is written in.
#pragma once
#include <cstdint>

namespace vd {

/** One step of a postfix expression over dimensions and attributes. */
enum class Code : uint8_t { constant, symbol, attr, present, op_add, op_sub, op_mul, op_div, op_mod, op_eq, op_ge, op_and, op_or };

struct ExprCode {
  Code code;
  int64_t value;
};

struct ExprRow {
  const ExprCode* codes;
  int length;
};

struct DimRow {
  ExprRow expr;
  /** The symbol that this dimension binds when it has no value yet; -1 for none. */
  int binds;
  /** May also be 1. */
  bool one_or;
};

struct TensorRow {
  const char* name;
  const DimRow* dims;
  int rank;
  /** Bit i set: DType i is accepted. */
  uint32_t dtypes;
  bool optional;
  /** May lie at any byte offset of read-only memory. */
  bool constant;
  bool output;
  /** Offsets of packed sequences into the dimension of this symbol; -1 for other tensors. */
  int offsets_into;
  /** The CPU takes 16-bit floats here although the contents may change. */
  bool half_on_cpu;
  /** Bit i set: shares no byte with tensor i of the op. */
  uint32_t apart;
};

enum class AttrKind : uint8_t { integer, real };

struct AttrRow {
  const char* name;
  AttrKind kind;
  int length;
  double min;
  double max;
};

struct DerivedRow {
  int symbol;
  ExprRow expr;
};

struct RuleRow {
  const char* where;
  ExprRow test;
  const char* expected;
  ExprRow got;
};

struct OpRow {
  const char* id;
  const TensorRow* tensors;
  int num_tensors;
  const AttrRow* attrs;
  int num_attrs;
  int num_slots;
  const DerivedRow* derived;
  int num_derived;
  const RuleRow* rules;
  int num_rules;
  int num_symbols;
};

#include "../generated/ops_table.inc"

inline constexpr int kNumOps = sizeof(kOps) / sizeof(kOps[0]);

}  // namespace vd
