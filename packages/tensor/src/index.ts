export { withCallbacks } from "./callbacks";
export { chooseDevice, type DeviceName, type DevicePlace, GPU_NAMES, openNamedDevice } from "./devices/choose-device";
export {
  DEVICE_PATTERN,
  type DeviceList,
  deviceLabel,
  isDeviceList,
  kindOfDevice,
  MOST_DEVICES,
} from "./devices/device-list";
export { DeviceTeam, labelled, type TeamMember } from "./devices/device-team";
export { type NamedDevice, openDevices } from "./devices/open-devices";
export { requireDevice } from "./devices/require-device";
export { SharedBlock, tensorCopy } from "./devices/shared-block";
export { Eager, type EagerOps, type EagerOptions, eager } from "./eager";
export {
  type ElementwiseFunctions,
  type ElementwiseNode,
  type ElementwiseTerm,
  elementwise,
} from "./elementwise";
export * from "./files/index";
export * from "./float8";
export {
  GRAPH,
  Graph,
  type GraphOptions,
  makeStorage,
  packedTensor,
  type RecordCall,
  type RewriteCall,
} from "./graph";
export type * from "./graph-ops.generated";
export * from "./half";
export { decodeStored, writeCheckedHost, writeHost } from "./host";
export { meantName, nearestNames } from "./nearest-names";
export * from "./nn/index";
export { requireLayer } from "./nn/layer";
export { recordOp } from "./op-method";
export {
  mapFloats,
  ownTurn,
  type Pausable,
  type PausableFunction,
  pausable,
  runAtOnce,
  runInSlices,
  type SliceOptions,
} from "./pausable";
export {
  type GraphLayout,
  heldElements,
  layoutGraph,
  type PlanCost,
  type PlanMemory,
  type Recording,
} from "./plan/layout";
export { arenaLifetimes, type Lifetime } from "./plan/lifetimes";
export { type LoadedPlan, observed, type WorkObserver } from "./plan/observer";
export { compile, Plan } from "./plan/plan";
export type { CopiedBytes, PlanOptions, PreparedPlan, RunOptions } from "./plan/plan-options";
export { type PlaneDims, pixelsToPlanes, planesToPixels } from "./planes";
export { peakProcessBytes } from "./process-memory";
export * from "./random/index";
export { checkCall, type Row } from "./row";
export {
  type CallOptions,
  channelRange,
  clipRange,
  describe,
  elementBytes,
  frameRange,
  isTensor,
  packedBytes,
  pixels,
  requireTensor,
  reshape,
  type Storage,
  type StorageKind,
  TENSOR,
  type Tensor,
  tokens,
} from "./tensor";
export { type Tuning, tuningTableFor } from "./tune/choose";
export { defaultTuningTable } from "./tune/defaults";
export {
  checkTuningTable,
  readTuningTable,
  type TuningEntry,
  type TuningTable,
  writeTuningTable,
} from "./tune/table";
export { type TuneOptions, type TuningProgress, tunePlan } from "./tune/tune-plan";
export { type ChangeRow, changedWeight } from "./weights/changed-storage";
export { decodeFloat64 } from "./weights/converted-storage";
export { type BatchNormFold, type FoldedWeights, foldBatchNorm } from "./weights/fold";
export { type FoldedNorm, foldedNorm } from "./weights/folded-norm";
export { type GatedLayer, gatedScale } from "./weights/gated-scale";
export { layerNormScale, normScale } from "./weights/norm-scale";
export { attentionScale, type NormedProjection, projectionScale } from "./weights/projection-scale";
export {
  LARGEST_CODES,
  type QuantizedType,
  type QuantizedWeight,
  quantizeUpsamplingWeight,
  quantizeWeight,
  type ScaledPart,
} from "./weights/quantized-weight";
export { randomWeights } from "./weights/random-weights";
export * from "./weights/safetensors";
export { type MakeWeight, mapWeightFile, roundedNotice, type WeightEntry, Weights } from "./weights/weights";
