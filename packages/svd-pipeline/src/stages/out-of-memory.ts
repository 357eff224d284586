import { isVdError } from "@vd/kernels-native";

/** True for what a device without enough memory throws. */
export const isOutOfMemory = (error: unknown): boolean => isVdError(error) && error.code === "memory";

/** True for what a machine without enough page-locked memory throws (`native/cuda/transfer.cc`). */
export const isOutOfPinned = (error: unknown): boolean =>
  isVdError(error) && error.code === "memory" && error.expected.includes("page-locked");
