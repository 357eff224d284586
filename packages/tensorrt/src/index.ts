import { registerDenoiser } from "@vd/svd-pipeline";
import { onnxruntime } from "./denoisers/onnxruntime";
import { tensorrt } from "./denoisers/tensorrt";

export { defaultCacheDir } from "./cache-dir";
export { type OnnxRuntimeOptions, onnxruntime } from "./denoisers/onnxruntime";
export { type TensorRtOptions, tensorrt } from "./denoisers/tensorrt";
export { type ExportedGraph, exportGraph, type PortShape } from "./export/export-graph";
export {
  type ExportOptions,
  type ExportPrecision,
  type ExportProgress,
  exportModel,
  PRECISIONS,
  partPath,
} from "./export/export-model";
export { ONNX_FORMS, type OnnxForm, type Refusal } from "./export/ops/forms";
export { FREE_SIZES, type FreeSizeName, PARTS, type Part } from "./export/parts";
export { type ModelInfo, type Port, readModel } from "./onnx/read-model";
export type { InputNumbers } from "./onnx/stored-numbers";
export { DEFAULT_OPSET, OPSETS, type WriteOptions, type WrittenModel, writeModel } from "./onnx/write-model";
export type { OrtModule, OrtProviderEntry, OrtSession, OrtSessionOptions, OrtTensor } from "./ort/ort-module";
export { listProviders, loadOrt, ORT_VERSION, PROVIDERS, type Provider } from "./ort/runtime";
export { type Numbers, OnnxSession, type SessionOptions } from "./ort/session";
export { OnnxModels, type OnnxModelsOptions } from "./peer/onnx-models";
export { type WholeRun, type WholeRunOptions, wholeRun } from "./peer/whole-run";
export { ENGINE_PRECISIONS, type EnginePrecision, type Profile } from "./trt/command";
export {
  type BuildProgress,
  buildEngine,
  currentGpu,
  type Engine,
  type EngineFacts,
  type EngineGpu,
  type EngineOptions,
  openEngine,
} from "./trt/engine";
export { findTensorRt, type SearchOptions, searchFolders, type TensorRt } from "./trt/find";
export { type EngineRunOptions, runEngine } from "./trt/run-engine";

// Loading this package makes the names known: fromPretrained(dir, { denoiser: "onnxruntime" }).
registerDenoiser("onnxruntime", () => onnxruntime());
registerDenoiser("tensorrt", () => tensorrt());
