// What a planner asks the GPU's backend to do: launches, packed weights, workspace. Plain C++, no CUDA headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "../../core/tensor.h"

namespace vd::cuda {

/** What planners must know of a device. */
struct DeviceInfo {
  int smVersion = 0;            // major * 10 + minor of the code image that was loaded, e.g. 90
  bool hasWgmma = false;        // the image was built for sm_90a and runs on compute capability 9.0
  int numSms = 1;               // streaming multiprocessors
  size_t sharedBytesPerBlock = 49152;  // opt-in limit of dynamic shared memory
  size_t l2Bytes = 0;
  bool hasTemplates = false;  // kernels that are completed where they run lie beside the image, see Expression
  int clusters[9] = {};  // by their blocks, each of which fills a multiprocessor: how many run at once; zeros where that is not known
};

/** What an address inside the parameters counts from. */
enum class AddressBase : uint8_t { absolute, workspace, pack };

/** A device address that may be known only when the variant is loaded. */
struct Address {
  AddressBase base = AddressBase::absolute;
  int pack = 0;          // index into Variant::packs when the base is `pack`
  uint64_t value = 0;    // the address itself, or bytes from the start of the workspace or pack
  static Address of(const void* pointer) { return {AddressBase::absolute, 0, reinterpret_cast<uint64_t>(pointer)}; }
  static Address workspace(uint64_t bytes) { return {AddressBase::workspace, 0, bytes}; }
  static Address packed(int index, uint64_t bytes = 0) { return {AddressBase::pack, index, bytes}; }
};

/** An 8-byte pointer in the parameter block, written when the variant is loaded. */
struct Relocation {
  uint32_t paramOffset = 0;
  Address address;
};

/** A tiled tensor map for the copy engine, encoded when the variant is loaded (cuTensorMapEncodeTiled): interleave none,
 *  L2 promotion 256 bytes, out-of-range elements zero. */
struct TensorMapRequest {
  uint32_t paramOffset = 0;
  Address base;
  DType dtype = DType::f16;
  int rank = 0;
  uint64_t dims[5] = {1, 1, 1, 1, 1};        // elements, innermost first
  uint64_t strideBytes[4] = {16, 16, 16, 16};  // of dims 1.., multiples of 16
  uint32_t box[5] = {1, 1, 1, 1, 1};         // traversal box, before element strides are applied
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  int swizzleBytes = 128;                    // 0, 32, 64 or 128
};

/** A step of an expression: a function of one value or of two, by the numbers of these. */
struct ExpressionStep {
  std::string function;
  int inputs[2] = {0, 0};
};

/** Arithmetic of a kernel that is completed when it is loaded. Values are numbered: first the inputs of the place that the kernel's text
 * has for it, behind them the results of the steps. */
struct Expression {
  std::vector<ExpressionStep> steps;
  int result = 0;  // the value that the place is to have
};

/** One kernel launch. `params` is the kernel's only parameter, by value. */
struct Launch {
  std::string symbol;
  std::optional<Expression> expression;  // of a kernel that the driver compiles for it alone, from its text (kernel_templates.h)
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block = 1;
  uint32_t cluster = 1;  // blocks in x that form a cluster
  bool allResident = false;  // blocks wait for each other: a cooperative launch, refused where they cannot all run at once
  bool overlapped = false;  // may begin before the launch before it ends: its kernel waits by itself (VD_KERNEL_OVERLAPPED), from sm_90
  uint32_t sharedBytes = 0;
  std::vector<std::byte> params;
  std::vector<Relocation> relocations;
  std::vector<TensorMapRequest> maps;

  template <class Params> void set_params(const Params& value) {
    static_assert(std::is_trivially_copyable_v<Params>);
    params.resize(sizeof(Params));
    std::memcpy(params.data(), &value, sizeof(Params));
  }
};

/** A constant operand in another form, made once on the device. Equal keys mean equal contents. */
struct Pack {
  const void* source = nullptr;
  int kind = 0;          // a device::PackKind
  int64_t targetType = 0;  // a DType
  size_t bytes = 0;
  bool constant = true;  // false: run the launches before every use
  std::vector<Launch> launches;
};

/** One way to compute a row. Launches run in order on one stream. */
struct Variant {
  std::string name;
  size_t workspaceBytes = 0;  // 256-byte aligned, contents undefined before and after
  std::vector<Pack> packs;
  std::vector<Launch> launches;
};

/** a / b, rounded up. */
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/** The least multiple of `step` that is not below `value`. */
constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }
/** True for multiples of 16 bytes, null included. */
inline bool aligned16(const void* pointer) { return (reinterpret_cast<uint64_t>(pointer) & 15) == 0; }
/** The type as kernels' names have it, e.g. f16. */
inline std::string type_name(DType type) { return kDTypeNames[static_cast<int>(type)]; }
/** True for float16 and bfloat16. */
constexpr bool is_16_bit(DType type) { return type == DType::f16 || type == DType::bf16; }

}  // namespace vd::cuda
