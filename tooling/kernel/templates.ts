// The files of a new op: one that computes each element on its own, complete but for its formula. Until that is written its
// reference throws and its backends give NaN.
import { pascal } from "../generate/ops/names";

const contract = (id: string) => `import { defineOp, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "${id}",
  summary: "Computes ${id} of each element.",
  formula: ["y = ${id}(x)"],
  source: ["the paper, page or file that the formula is from"],
  inputs: { x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "operand" } },
  attrs: {},
  outputs: { y: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "result" } },
  rules: [],
  cost: ({ B, F, S, C }) => ({ flops: B! * F! * S! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
`;

const cases = (id: string, name: string) => `import { defineCases } from "../../contract/define-case";
import ${name} from "./${id}.op";

export default defineCases(${name}, {
  correctness: [
    { name: "odd", inputs: { x: [2, 3, 5, 7] } },
    { name: "one element", inputs: { x: [1, 1, 1, 1] } },
    { name: "on gaps", inputs: { x: { dims: [1, 2, 3, 5], gap: 3 } }, outGap: 1 },
    { name: "x f16", inputs: { x: { dims: [1, 2, 3, 8], dtype: "f16" } } },
  ],
  bench: [{ name: "svd-xt.unet.down0", inputs: { x: [2, 25, 9216, 320] } }],
});
`;

const reference = (
  id: string,
  name: string,
) => `import { at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** The result of one element, in float64. */
function resultOf(x: number): number {
  throw new Error(\`expected the formula of ${id}(\${x}), it is not written yet\`);
}

/** ${id}, element by element. */
export default function ${name}(call: PlainCall): PlainResults {
  const x = call.operand("x");
  return { y: plain(x.dims, (...index) => resultOf(at(x, ...index))) };
}
`;

const definition = (id: string, type: string) => `// The definition of ${id}.
#include <limits>

#include "../../native/cpu/reference.h"

namespace vd::cpu {
namespace {

/** The result of one element. */
float value_of(float) { return std::numeric_limits<float>::quiet_NaN(); }

}  // namespace

void ${id}_reference(const ${type}Args& a, ThreadPool& pool) {
  pool.parallel_for(a.x.pixels(), [&](int64_t i, int) {
    for (int64_t c = 0; c < a.x.channels(); ++c) put(a.y, i, c, value_of(at(a.x, i, c)));
  });
}

}  // namespace vd::cpu
`;

const params = (id: string, type: string) => `// Parameters of the ${id} kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct ${type}Params {
  const void* x;
  void* y;
  int64_t pixels;
  int64_t xPitch, yPitch;
  int32_t channels, xType, yType;
};

}  // namespace vd::device
`;

const planner = (id: string, type: string) => `#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/elementwise.h"
#include "${id}_params.h"

namespace vd {

cuda::Candidates ${id}_cuda_variants(const ${type}Args& a, const cuda::DeviceInfo&, const cuda::PlanningOptions& options) {
  device::${type}Params p{};
  p.x = a.x.data;
  p.y = a.y.data;
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  return cuda::elementwise_candidates("${id}_scalar", a.x.count(), p, options);
}

}  // namespace vd
`;

const kernel = (id: string, type: string) => `// ${id}: an element a thread.
// Symbols: ${id}_scalar.
#include "../../device/elementwise.cuh"
#include "${id}_params.h"

using namespace vd::device;

namespace {

/** The result of one element. */
__device__ __forceinline__ float value_of(float) { return __int_as_float(0x7fffffff); }

__device__ __forceinline__ void ${id}(const ${type}Params& p) {
  for_each_item(p.pixels * p.channels, [&](int64_t i) {
    const int64_t pixel = i / p.channels, c = i - pixel * p.channels;
    store_any(p.y, p.yType, pixel * p.yPitch + c, value_of(load_any(p.x, p.xType, pixel * p.xPitch + c)));
  });
}

}  // namespace

VD_KERNEL(${id}_scalar, ${type}Params, 256, 4, ${id})
`;

/** The files of a new op by their names in its folder. name: of its method, in camelCase. */
export function newOpFiles(id: string, name: string): Readonly<Record<string, string>> {
  const type = pascal(id);
  return {
    [`${id}.op.ts`]: contract(id),
    [`${id}.cases.ts`]: cases(id, name),
    [`${id}.reference.ts`]: reference(id, name),
    [`${id}.cpu.cc`]: definition(id, type),
    [`${id}_params.h`]: params(id, type),
    [`${id}.cuda.cc`]: planner(id, type),
    [`${id}.cu`]: kernel(id, type),
  };
}
