#include "validate.h"

#include <cmath>

#include "error.h"
#include "op_table.h"

namespace vd {
namespace {

constexpr int kStackDepth = 32;
constexpr int kMaxSymbols = 24;

std::string number(double value) {
  if (std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 9e15) return std::to_string(static_cast<int64_t>(value));
  return std::to_string(value);
}

std::string dims_text(const Tensor& t) {
  std::string text = kDTypeNames[static_cast<int>(t.dtype)] + std::string("[");
  for (int i = 0; i < t.rank; ++i) text += (i ? "," : "") + std::to_string(t.dims[i]);
  return text + "]";
}

/** What a message is about. It becomes text only when something is wrong: thousands of words are right. */
struct Where {
  const std::string& row;
  const char* op = nullptr;
  const char* argument = nullptr;
  const char* part = "";

  Where of(const char* its_part) const { return {row, op, argument, its_part}; }
  std::string text() const {
    if (op == nullptr) return row;
    return row + "] [" + op + "] [" + argument + part;
  }
};

/** Reads words one after the other; a short program is an error, never a read past the end. */
class Reader {
 public:
  explicit Reader(std::span<const double> words) : words_(words) {}
  bool done() const { return next_ >= words_.size(); }
  double real(const Where& where) {
    if (done()) throw Error(ErrorCode::internal, where.text(), "more numbers in the program", "its end");
    return words_[next_++];
  }
  int64_t integer(const Where& where, double min, double max) {
    const double value = real(where);
    if (!(value >= min && value <= max) || value != std::floor(value))
      throw Error(ErrorCode::attr, where.text(), "an integer from " + number(min) + " to " + number(max), number(value));
    return static_cast<int64_t>(value);
  }

 private:
  std::span<const double> words_;
  size_t next_ = 0;
};

/** True unless two views have no byte in common: they lie one behind the other, or as ranges of channels of the same pixels.
 *  Views of different pitches that are interleaved otherwise count as sharing. */
bool share_bytes(const Tensor& a, const Tensor& b) {
  if (a.data > b.data) return share_bytes(b, a);
  const auto distance = static_cast<int64_t>(reinterpret_cast<uintptr_t>(b.data) - reinterpret_cast<uintptr_t>(a.data));
  const int64_t item = bytes_of(a.dtype), width = a.channels() * item, pitch = a.pitch * item;
  if (distance >= (a.pixels() - 1) * pitch + width) return false;
  const int64_t otherItem = bytes_of(b.dtype), otherWidth = b.channels() * otherItem;
  return b.pitch * otherItem != pitch || distance % pitch < width || distance % pitch + otherWidth > pitch;
}

/** True where two views have one shape and each element of one lies where that element of the other one lies. As many elements of another
 *  shape are not enough: those may be coefficients or statistics, which are read for many results. */
bool same_place(const Tensor& a, const Tensor& b) {
  if (a.data != b.data || a.rank != b.rank || bytes_of(a.dtype) != bytes_of(b.dtype)) return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.dims[d] != b.dims[d]) return false;
  return a.pitch == b.pitch || a.pixels() == 1;
}

/** Checks one row against its contract. */
class RowChecker {
 public:
  RowChecker(const OpRow& op, Row& row) : op_(op), row_(row) {
    for (auto& symbol : symbols_) symbol = 0;
  }

  void check_all() {
    bind();
    for (int i = 0; i < op_.num_derived; ++i) symbols_[op_.derived[i].symbol] = value_of(op_.derived[i].expr);
    for (int t = 0; t < op_.num_tensors; ++t)
      if (row_.tensors[t].present()) check_dims(t);
    for (int t = 0; t < op_.num_tensors; ++t)
      if (row_.tensors[t].present() && op_.tensors[t].offsets_into >= 0) row_.offsets.push_back({t, symbols_[op_.tensors[t].offsets_into]});
    for (int i = 0; i < op_.num_rules; ++i) {
      const RuleRow& rule = op_.rules[i];
      if (value_of(rule.test) == 0) throw Error(ErrorCode::attr, where(rule.where), rule.expected, std::to_string(value_of(rule.got)));
    }
    for (int t = 0; t < op_.num_tensors; ++t)
      if (op_.tensors[t].output && row_.tensors[t].present()) check_apart(t);
  }

 private:
  std::string where(const char* argument) const { return Where{row_.name, op_.id, argument}.text(); }

  void bind() {
    for (int t = 0; t < op_.num_tensors; ++t) {
      const TensorRow& spec = op_.tensors[t];
      const Tensor& tensor = row_.tensors[t];
      if (!tensor.present()) continue;
      if (tensor.rank != spec.rank)
        throw Error(ErrorCode::shape, where(spec.name), std::to_string(spec.rank) + " dimensions", dims_text(tensor));
      for (int d = 0; d < spec.rank; ++d)
        if (const int symbol = spec.dims[d].binds; symbol >= 0 && symbols_[symbol] == 0) symbols_[symbol] = tensor.dims[d];
    }
  }

  void check_dims(int t) const {
    const TensorRow& spec = op_.tensors[t];
    const Tensor& tensor = row_.tensors[t];
    for (int d = 0; d < spec.rank; ++d) {
      const int64_t wanted = value_of(spec.dims[d].expr);
      if (tensor.dims[d] == wanted || (spec.dims[d].one_or && tensor.dims[d] == 1)) continue;
      throw Error(ErrorCode::shape, where(spec.name),
                  std::to_string(wanted) + (spec.dims[d].one_or ? " or 1" : "") + " in dimension " + std::to_string(d), dims_text(tensor));
    }
  }

  /** A result may take the place of an operand that its contract does not keep apart, element for element. Anywhere else in that
   *  operand's memory it would be written over what is still to be read. Two results never share memory. */
  void check_apart(int t) const {
    const TensorRow& spec = op_.tensors[t];
    for (int other = 0; other < op_.num_tensors; ++other) {
      if (other == t || !row_.tensors[other].present() || !share_bytes(row_.tensors[t], row_.tensors[other])) continue;
      const std::string name = op_.tensors[other].name;
      const std::string apart = "memory that holds no other operand";
      if (op_.tensors[other].output || (spec.apart >> other & 1) != 0)
        throw Error(ErrorCode::layout, where(spec.name), apart, "that of " + name);
      if (!same_place(row_.tensors[t], row_.tensors[other]))
        throw Error(ErrorCode::layout, where(spec.name), apart + ", or exactly one of the same shape", "a part of that of " + name);
    }
  }

  static int64_t clamp(__int128 v) {
    constexpr int64_t kLimit = int64_t{1} << 62;
    return v > kLimit ? kLimit : v < -kLimit ? -kLimit : static_cast<int64_t>(v);
  }

  static int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    const int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
  }

  static int64_t apply(Code code, int64_t a, int64_t b) {
    switch (code) {
      case Code::op_add: return clamp(static_cast<__int128>(a) + b);
      case Code::op_sub: return clamp(static_cast<__int128>(a) - b);
      case Code::op_mul: return clamp(static_cast<__int128>(a) * b);
      case Code::op_div: return floor_div(a, b);
      case Code::op_mod: return b == 0 ? 0 : a - b * floor_div(a, b);
      case Code::op_eq: return a == b;
      case Code::op_ge: return a >= b;
      case Code::op_and: return a != 0 && b != 0;
      default: return a != 0 || b != 0;
    }
  }

  int64_t value_of(const ExprRow& expr) const {
    int64_t stack[kStackDepth];
    int depth = 0;
    for (int i = 0; i < expr.length; ++i) {
      const ExprCode& step = expr.codes[i];
      switch (step.code) {
        case Code::constant: stack[depth++] = step.value; break;
        case Code::symbol: stack[depth++] = symbols_[step.value]; break;
        case Code::attr: stack[depth++] = static_cast<int64_t>(row_.attrs[step.value]); break;
        case Code::present: stack[depth++] = row_.tensors[step.value].present(); break;
        default: --depth; stack[depth - 1] = apply(step.code, stack[depth - 1], stack[depth]);
      }
    }
    return stack[0];
  }

  const OpRow& op_;
  Row& row_;
  int64_t symbols_[kMaxSymbols];
};

void check_place(const TensorRow& spec, const Tensor& t, double offset, const BufferBinding& buffer, const Where& where) {
  const auto item = static_cast<double>(bytes_of(t.dtype));
  double pixels = 1;
  for (int d = 0; d + 1 < t.rank; ++d) pixels *= static_cast<double>(t.dims[d]);
  const double channels = static_cast<double>(t.channels());
  if (pixels * static_cast<double>(t.pitch) > kMaxElements)
    throw Error(ErrorCode::shape, where.text(), "at most 2^46 elements", dims_text(t));
  const double end = offset + ((pixels - 1) * static_cast<double>(t.pitch) + channels) * item;
  if (end > static_cast<double>(buffer.memory->bytes()))
    throw Error(ErrorCode::layout, where.text(),
                "a place inside its buffer of " + number(static_cast<double>(buffer.memory->bytes())) + " bytes",
                "one that ends at byte " + number(end));
  if (!spec.constant && std::fmod(offset, item) != 0)
    throw Error(ErrorCode::layout, where.text(), "a byte offset that is a multiple of " + number(item), number(offset));
  if (spec.output && (buffer.constant || !buffer.memory->writable()))
    throw Error(ErrorCode::layout, where.text(), "memory that may be written", "read-only memory");
}

Tensor read_tensor(Reader& reader, const TensorRow& spec, const std::vector<BufferBinding>& buffers, const Where& where) {
  Tensor t;
  const int64_t index = reader.integer(where.of(" buffer"), -1, static_cast<double>(buffers.size()) - 1);
  const auto offset = static_cast<double>(reader.integer(where.of(" offset"), 0, 9e15));
  t.dtype = static_cast<DType>(reader.integer(where.of(" dtype"), 0, kNumDTypes - 1));
  t.rank = static_cast<int>(reader.integer(where.of(" rank"), 1, kMaxRank));
  double count = 1;
  for (int d = 0; d < kMaxRank; ++d) {
    const int64_t dim = reader.integer(where.of(" dimension"), d < t.rank ? 1 : 0, kMaxElements);
    if (d < t.rank) count *= static_cast<double>(t.dims[d] = dim);
  }
  t.pitch = reader.integer(where.of(" pitch"), 1, kMaxElements);
  if (index < 0) {
    if (!spec.optional) throw Error(ErrorCode::attr, where.text(), "a tensor", "nothing");
    return Tensor{};
  }
  if (count > kMaxElements) throw Error(ErrorCode::shape, where.text(), "at most 2^46 elements", dims_text(t));
  if (t.pitch < t.channels()) throw Error(ErrorCode::layout, where.text(), "a pitch of at least the channels", std::to_string(t.pitch));
  if (spec.constant && t.pitch != t.channels())
    throw Error(ErrorCode::layout, where.text(), "a packed tensor", "a pitch of " + std::to_string(t.pitch));
  if (((spec.dtypes >> static_cast<int>(t.dtype)) & 1) == 0)
    throw Error(ErrorCode::dtype, where.text(), "another element type", kDTypeNames[static_cast<int>(t.dtype)]);
  const BufferBinding& buffer = buffers[static_cast<size_t>(index)];
  check_place(spec, t, offset, buffer, where);
  t.data = buffer.memory->data() + static_cast<size_t>(offset);
  t.constant = buffer.constant;
  return t;
}

Row read_row(Reader& reader, std::string name, const std::vector<BufferBinding>& buffers) {
  Row row;
  row.name = std::move(name);
  row.op = static_cast<int>(reader.integer({row.name}, 0, kNumOps - 1));
  const OpRow& op = *kOps[row.op];
  const auto argument = [&](const char* its_name) { return Where{row.name, op.id, its_name}; };
  for (int a = 0; a < op.num_attrs; ++a) {
    const AttrRow& attr = op.attrs[a];
    for (int i = 0; i < attr.length; ++i) {
      if (attr.kind == AttrKind::integer) {
        row.attrs.push_back(static_cast<double>(reader.integer(argument(attr.name), attr.min, attr.max)));
        continue;
      }
      const double value = reader.real(argument(attr.name));
      if (!(value >= attr.min && value <= attr.max))
        throw Error(ErrorCode::attr, argument(attr.name).text(), "a number from " + number(attr.min) + " to " + number(attr.max),
                    number(value));
      row.attrs.push_back(value);
    }
  }
  for (int t = 0; t < op.num_tensors; ++t) row.tensors.push_back(read_tensor(reader, op.tensors[t], buffers, argument(op.tensors[t].name)));
  RowChecker(op, row).check_all();
  return row;
}

}  // namespace

std::vector<Row> decode_rows(std::span<const double> words, const std::vector<std::string>& names,
                             const std::vector<BufferBinding>& buffers) {
  Reader reader(words);
  std::vector<Row> rows;
  while (!reader.done()) {
    const size_t index = rows.size();
    rows.push_back(read_row(reader, index < names.size() ? names[index] : "row " + std::to_string(index), buffers));
  }
  return rows;
}

}  // namespace vd
