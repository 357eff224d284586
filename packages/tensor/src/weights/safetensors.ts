/** Everything about safetensors files in one import: the reader, sharded checkpoints and the writer. */
export { type Checkpoint, type CheckpointOptions, type CheckpointTensor, openCheckpoint } from "./checkpoint";
export { SAFETENSORS_DTYPE_BYTES, type SafetensorsDtype } from "./safetensors-dtype";
export { SafetensorsFile } from "./safetensors-file";
export type { SafetensorsEntry } from "./safetensors-header";
export { type StreamOptions, streamSafetensors, type TensorToWrite, writeSafetensors } from "./write-safetensors";
