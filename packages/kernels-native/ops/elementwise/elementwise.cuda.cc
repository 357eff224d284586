#include <algorithm>
#include <iterator>
#include <utility>

#include "../../native/generated/op_planners.h"

#include "elementwise_forms.h"
#include "elementwise_functions.h"

namespace vd {

namespace {

using namespace device;

/** Of grid.y; frames beyond go to the same blocks. */
constexpr int64_t kMostFrames = 65535;
/** Tokens and channels are told apart in 32 bits. */
constexpr int64_t kMostRuns = int64_t{1} << 31;

/** Elements of results from which on it pays to compile a kernel: those of fewer take as long as a launch does, whatever computes them. */
constexpr int64_t kLeastCompiled = int64_t{1} << 16;

static_assert(static_cast<int>(Instruction::max) == kMax && static_cast<int>(Instruction::neg) == kNeg &&
                  static_cast<int>(Instruction::k3) == kK3 && static_cast<int>(Instruction::silu) == kSiluOf,
              "device code numbers instructions as the contract does");

/** Whether an operand has a number for each element of the result, one behind the other, or one for all. */
bool is_dense(const Tensor& t, const Tensor& y) {
  return t.count() == 1 || (t.pixels() == y.pixels() && t.channels() == y.channels() && t.pitch == t.channels());
}

ElementwiseOperand operand_of(const Tensor& t, const Tensor& y) {
  const auto stride = [&](int dim, int64_t elements) { return t.dim(dim) > 1 ? elements : 0; };
  const int64_t frame = t.pitch * t.dim(2);
  return {t.data,
          stride(0, frame * t.dim(1)),
          stride(1, frame),
          stride(2, t.pitch),
          t.channels() == 1 && y.channels() > 1 ? 0 : 1,
          static_cast<int32_t>(t.dtype)};
}

/** The program with operands and constants renamed in the order of their first appearance, and what they are called now. */
struct Renamed {
  uint8_t code[kElementwiseLength] = {};
  int operands[kElementwiseOperands] = {-1, -1, -1, -1};
  float constants[kElementwiseConstants] = {};
  int numOperands = 0;
};

Renamed renamed(const ElementwiseArgs& a) {
  Renamed r;
  int newNames[kK3 + 1] = {};
  int numConstants = 0;
  for (int i = 0; i < kElementwiseLength; ++i) {
    const int code = static_cast<int>(a.code[i]);
    if (code == kEnd || code > kK3) {
      r.code[i] = static_cast<uint8_t>(code);
      continue;
    }
    if (newNames[code] == 0 && code <= kD) {
      r.operands[r.numOperands] = code - kA;
      newNames[code] = kA + r.numOperands++;
    } else if (newNames[code] == 0) {
      r.constants[numConstants] = a.constants[code - kK0];
      newNames[code] = kK0 + numConstants++;
    }
    r.code[i] = static_cast<uint8_t>(newNames[code]);
  }
  return r;
}

/** The form of a program, or null. */
const ElementwiseForm* form_of(const Renamed& r) {
  const auto* found = std::find_if(std::begin(kElementwiseForms), std::end(kElementwiseForms), [&](const ElementwiseForm& form) {
    return std::equal(std::begin(form.code), std::end(form.code), std::begin(r.code));
  });
  return found == std::end(kElementwiseForms) ? nullptr : found;
}

constexpr const char* kNames[] = {"a", "b", "c", "d"};

/** Functions by their codes, from kNeg on. */
constexpr const char* kFunctions[] = {
#define VD_NAME(name, code) #name,
    VD_ELEMENTWISE_UNARY(VD_NAME) VD_ELEMENTWISE_BINARY(VD_NAME)
#undef VD_NAME
};
static_assert(std::size(kFunctions) == kMax - kNeg + 1);

/** The program as steps; values are operands and constants in the order of their codes, then the steps' own. */
cuda::Expression expression_of(const Renamed& r, DType type) {
  const std::string prefix = cuda::is_16_bit(type) ? "elementwise_fast_" : "elementwise_exact_";
  cuda::Expression e;
  int stack[4] = {}, depth = 0;
  for (const uint8_t code : r.code) {
    if (code == kEnd) break;
    if (code <= kK3) {
      stack[depth++] = code - kA;
      continue;
    }
    if (code >= kAdd) --depth;
    int& top = stack[depth - 1];
    e.steps.push_back({prefix + kFunctions[code - kNeg], {top, code >= kAdd ? stack[depth] : top}});
    top = kElementwiseSources + static_cast<int>(e.steps.size()) - 1;
  }
  e.result = stack[0];
  return e;
}

/** The call as kernels see it. */
class Call {
 public:
  explicit Call(const ElementwiseArgs& a) : y_(a.y), program_(renamed(a)) {
    const Tensor* all[] = {&a.a, &a.b, &a.c, &a.d};
    for (int i = 0; i < program_.numOperands; ++i) {
      tensors_[i] = all[program_.operands[i]];
      params_.operands[i] = operand_of(*tensors_[i], y_);
    }
    set_program();
    std::copy(std::begin(program_.constants), std::end(program_.constants), params_.constants);
    params_.y = y_.data;
    params_.yType = static_cast<int32_t>(y_.dtype);
    set_sizes();
  }

  const ElementwiseForm* form() const { return form_of(program_); }

  /** Why there is no kernel at all. */
  cuda::Reason size_reason() const {
    const int64_t most = std::max({y_.dim(0) * y_.dim(1), y_.dim(2), y_.channels()});
    return cuda::if_so(!flat_ && most > kMostRuns - 1, {"counts up to # frames, tokens and channels, y has #", {kMostRuns - 1, most}});
  }

  /** Why channels cannot be taken eight at a time. */
  cuda::Reason vector_reason() const {
    cuda::Reason reason = cuda::first_of(
        {cuda::if_so(params_.channels % 8 != 0, {"has # channels, which 8 does not divide", {params_.channels}, "y"}),
         cuda::if_so(params_.tokens > 1 && params_.channels / 8 * params_.tokens > kMostRuns,
                     {"has more than # channels of a frame", {8 * kMostRuns}, "y"}),
         flat_ ? cuda::if_so(!cuda::aligned16(y_.data), {"is not 16-byte aligned", {}, "y"}) : cuda::access_reason(y_, "y", 8, false)});
    for (int i = 0; i < program_.numOperands && !reason; ++i) {
      const char* name = kNames[program_.operands[i]];
      if (params_.operands[i].channelStride == 0) continue;
      reason = flat_ ? cuda::if_so(!cuda::aligned16(tensors_[i]->data), {"is not 16-byte aligned", {}, name})
                     : cuda::access_reason(*tensors_[i], name, 8, false);
    }
    return reason;
  }

  /** Why there is no kernel for the expression itself. */
  cuda::Reason form_reason() const { return cuda::if_so(form() == nullptr, {"is for expressions that have kernels of their own"}); }

  /** Why kernels that are compiled for the result's type cannot read the operands. */
  cuda::Reason type_reason() const {
    cuda::Reason reason;
    for (int i = 0; i < program_.numOperands && !reason; ++i)
      reason = cuda::if_so(tensors_[i]->dtype != y_.dtype, {"has another element type than y", {}, kNames[program_.operands[i]]});
    return reason;
  }

  /** The launch of the kernel of an expression. */
  cuda::Variant form_variant(const std::string& symbol) const { return variant(symbol, 8, kElementwiseThreads, kMostRuns - 1); }

  /** The launch of a kernel that the driver compiles for the expression. */
  cuda::Variant compiled_variant(const std::string& name) const {
    cuda::Variant compiled = form_variant(name + std::to_string(program_.numOperands));
    compiled.name = name;
    compiled.launches[0].expression = expression_of(program_, type());
    return compiled;
  }

  /** The launch of an interpreter whose threads take runs of `width` channels. */
  cuda::Variant program_variant(const std::string& symbol, int64_t width, const cuda::DeviceInfo& device) const {
    const int64_t blocks = int64_t{device.numSms} * kInterpreterBlocks * kInterpreterRounds;
    return variant(symbol, width, kInterpreterThreads, std::max<int64_t>(blocks / std::min(frames(), kMostFrames), 1));
  }

  DType type() const { return y_.dtype; }

 private:
  int64_t frames() const { return static_cast<int64_t>(params_.clips) * params_.frames; }

  /** A launch whose threads take a run of `width` channels at a time; most: blocks of a frame. */
  cuda::Variant variant(const std::string& symbol, int64_t width, int threads, int64_t most) const {
    cuda::Launch launch;
    launch.symbol = symbol;
    launch.block = static_cast<uint32_t>(threads);
    const int64_t blocks = cuda::ceil_div(params_.channels / width * params_.tokens, threads);
    launch.grid[0] = static_cast<uint32_t>(std::min(blocks, most));
    launch.grid[1] = static_cast<uint32_t>(std::min(frames(), kMostFrames));
    launch.set_params(params_);
    return {symbol, 0, {}, {launch}};
  }

  /** The program for the interpreter: what is pushed only to be given to a function at once is named by the function. */
  void set_program() {
    int numCodes = 0;
    for (int i = 0; i < kElementwiseLength && program_.code[i] != kEnd; ++i) {
      int code = program_.code[i];
      const int next = i + 1 < kElementwiseLength ? program_.code[i + 1] : int{kEnd};
      if (code <= kK3 && next >= kAdd) {
        code = fused_code(next, code);
        ++i;
      }
      params_.program[numCodes / 8] |= static_cast<uint64_t>(code) << (numCodes % 8 * 8);
      ++numCodes;
    }
  }

  void set_sizes() {
    flat_ = y_.pitch == y_.channels();
    for (int i = 0; i < program_.numOperands; ++i) flat_ = flat_ && is_dense(*tensors_[i], y_);
    params_.yPitch = y_.pitch;
    params_.channels = flat_ ? y_.count() : y_.channels();
    params_.clips = flat_ ? 1 : static_cast<uint32_t>(y_.dim(0));
    params_.frames = flat_ ? 1 : static_cast<uint32_t>(y_.dim(1));
    params_.tokens = flat_ ? 1 : static_cast<uint32_t>(y_.dim(2));
    if (!flat_) return;
    for (int i = 0; i < program_.numOperands; ++i) params_.operands[i].channelStride = tensors_[i]->count() == y_.count() ? 1 : 0;
  }

  const Tensor& y_;
  Renamed program_;
  const Tensor* tensors_[kElementwiseOperands] = {};
  ElementwiseParams params_{};
  bool flat_ = false;
};

}  // namespace

cuda::Candidates elementwise_cuda_variants(const ElementwiseArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const Call call(a);
  if (!out.allows({"elementwise_*"}, call.size_reason())) return out;
  const cuda::Reason unaligned = call.vector_reason(), mixed = cuda::first_of({unaligned, call.type_reason()});
  const std::string prefix = "elementwise_" + cuda::type_name(call.type()) + "_";
  const cuda::Reason no_text = cuda::if_so(!device.hasTemplates, {"needs the text of kernels beside the device code"});
  if (out.allows({prefix, "*"}, cuda::first_of({mixed, call.form_reason()}))) out.add(call.form_variant(prefix + call.form()->name));
  if (out.allows({prefix, "compiled"}, cuda::first_of({mixed, no_text}))) out.add(call.compiled_variant(prefix + "compiled"));
  if (out.allows({prefix, "program"}, mixed)) out.add(call.program_variant(prefix + "program", 8, device));
  else if (out.allows({"elementwise_vector"}, unaligned)) out.add(call.program_variant("elementwise_vector", 8, device));
  else out.add(call.program_variant("elementwise_scalar", 1, device));
  // Both give the same bits.
  if (a.y.count() < kLeastCompiled && out.variants.front().launches[0].expression) std::swap(out.variants[0], out.variants[1]);
  return out;
}

}  // namespace vd
