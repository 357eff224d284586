/** The contract of options: what a pipeline can be told, as tables, and what reads, checks and describes them. */

export { autoSize, type Size } from "./auto-size";
export { BATCH_GROUP, BATCH_TABLE } from "./batch-table";
export { drawSeed, modelDefaults } from "./check-generate";
export { checkTable, type TableContext } from "./check-table";
export { checkValue, expectedOf, type Fault, faultOf, shown } from "./check-value";
export {
  INTERPOLATIONS,
  type Interpolation,
  MEMORY_USES,
  type MemoryUse,
  OUTPUT_TYPES,
  type OutputType,
  PRECISIONS,
  type Precision,
  STEP_NOISES,
  type StepNoise,
  WEIGHT_FORMATS,
} from "./choices";
export * from "./cli";
export { rangeForm, sizeForm } from "./cli-forms";
export { FAST, FAST_QUALITY } from "./fast";
export { GENERATE_GROUP, GENERATE_TABLE, USUAL_FPS } from "./generate-table";
export { configSchema, type JsonSchema, valueSchema } from "./json-schema";
export * from "./kinds";
export { LOAD_GROUP, LOAD_TABLE } from "./load-table";
export * from "./option";
export type {
  BatchLists,
  GenerateDefaults,
  GenerateOptions,
  GenerateValues,
  LoadOptions,
  LoadValues,
} from "./option-types.generated";
export { rangeText } from "./range-text";
export { readRange, readSize, readText, valueError } from "./read-text";
