export { Eager, type EagerOps, eager } from "./eager";
export * from "./files/index";
export { Graph, type GraphOptions, makeStorage, packedTensor } from "./graph";
export type * from "./graph-ops.generated";
export * from "./half";
export { decodeStored } from "./host";
export { meantName, nearestNames } from "./nearest-names";
export * from "./nn/index";
export { mapPausable, ownTurn, type Pausable, runAtOnce, runInSlices, type SliceOptions } from "./pausable";
export { type PlaneDims, pixelsToPlanes, planesToPixels } from "./planes";
export { type ArenaLayout, planArena } from "./plan/arena";
export {
  type GraphLayout,
  layoutGraph,
  layoutGraphInSlices,
  type PlanCost,
  type PlanMemory,
  type Recording,
} from "./plan/layout";
export { arenaLifetimes, type Lifetime } from "./plan/lifetimes";
export { type LoadedPlan, observed, type WorkObserver } from "./plan/observer";
export { cancelledError, compile, Plan, type PlanOptions, type RunOptions } from "./plan/plan";
export * from "./random/index";
export { checkCall, type Row } from "./row";
export * from "./tensor";
export { chooseVariants, type Tuning, tuningTableFor } from "./tune/choose";
export { defaultTuningTable } from "./tune/defaults";
export { rowKey } from "./tune/row-key";
export {
  checkTuningTable,
  readTuningTable,
  type TuningEntry,
  type TuningTable,
  writeTuningTable,
} from "./tune/table";
export { type TuneOptions, type TuningProgress, tunePlan } from "./tune/tune-plan";
export { type BatchNormFold, type FoldedWeights, foldBatchNorm } from "./weights/fold";
export * from "./weights/safetensors";
export { mapWeightFile, type WeightEntry, Weights } from "./weights/weights";
