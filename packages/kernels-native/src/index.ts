export * from "../contract/index";
export type { FloatsRead, ProgramInfo, RejectedVariant, RunTimes } from "./addon-types";
export { allocateBuffer, DeviceBuffer, type FloatRegion, mapFile } from "./buffer";
export { cupti, type KernelSum } from "./cupti";
export {
  type Binding,
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
  requireOptions,
  requireText,
  throwIfAborted,
  VdError,
  type VdErrorDetails,
} from "./errors";
export { allocateFloats, largestMagnitude, touchFloats } from "./floats";
export { imageDir, listGpus, startDriver } from "./gpus";
export { verifyPrebuilds } from "./load";
export { fillNormals, mersenneDraws, type NormalsOptions, sharedFloats } from "./normals";
export { nvtx } from "./nvtx";
export type { VerifiedFile } from "./verify";
