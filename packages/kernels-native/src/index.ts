/** Of the contract what callers of ops need. What ops are defined with is in `@vd/kernels-native/contract`. */
export type * from "../contract/index";
export {
  ACTIVATIONS,
  ARENA_ALIGNMENT_BYTES,
  CPU_FAST_PATHS,
  DTYPE_NAMES,
  DTYPES,
  ELEMENTWISE_BINARY,
  ELEMENTWISE_CONSTANTS,
  ELEMENTWISE_INSTRUCTIONS,
  ELEMENTWISE_MAX_DEPTH,
  ELEMENTWISE_MAX_LENGTH,
  ELEMENTWISE_OPERANDS,
  ELEMENTWISE_UNARY,
  ERROR_CODES,
  FLOATS,
  MAX_ELEMENTS,
  MAX_RANK,
  OPS,
  POINTWISE_ACTIVATIONS,
  QUANTIZED,
} from "../contract/index";
export type { FloatsRead, ProgramInfo, RejectedVariant, RunTimes } from "./addon-types";
export {
  arrayOf,
  COUNT,
  DIMS,
  FINITE,
  FLAG,
  FLOATS_32,
  FUNCTION,
  having,
  listOf,
  NUMBER,
  numberFrom,
  OBJECT,
  oneOfThese,
  optional,
  PATH,
  requireArgument,
  requireFields,
  requireOptions,
  requireText,
  SIGNAL,
  TEXT,
  type Wanted,
  type WantedFields,
  wholeFrom,
} from "./arguments";
export { allocateBuffer, type BufferCopy, DeviceBuffer, type FloatRegion, mapFile } from "./buffer";
export { countOf, dtypeIndex, spanOf } from "./checked-contract";
export { cupti, type KernelSum } from "./cupti";
export {
  type AllocateOptions,
  type Binding,
  type BufferRange,
  type CompileOptions,
  CPU_MATH,
  type CpuMath,
  type CpuOptions,
  DEVICE_KINDS,
  Device,
  type DeviceInfo,
  type DeviceKind,
  type DeviceOptions,
  devices,
  type GpuOptions,
  openDevice,
  Program,
  type TrimOptions,
} from "./device";
export { environment, MAX_THREADS } from "./env";
export {
  type CancelledWork,
  cancelledError,
  isVdError,
  throwIfAborted,
  VdError,
  type VdErrorDetails,
} from "./errors";
export { allocateFloats, largestMagnitude, touchFloats } from "./floats";
export { imageDir, listGpus, startDriver } from "./gpus";
export { verifyPrebuilds } from "./load";
export { fillNormals, mersenneDraws, type NormalsOptions, sharedFloats } from "./normals";
export { nvtx } from "./nvtx";
export {
  type PictureNormalisation,
  type PicturePixels,
  type PictureRuns,
  type PictureTaps,
  type PictureThreads,
  type PlaneOptions,
  pictureToPlanes,
  type ResampleOptions,
  resamplePicture,
  resizePicture,
} from "./pictures";
export { shown, shownJson } from "./shown";
export type { VerifiedFile } from "./verify";
