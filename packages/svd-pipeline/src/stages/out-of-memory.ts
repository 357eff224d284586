import { isVdError } from "@vd/kernels-native";

/** True for what a device without enough memory throws. */
export const isOutOfMemory = (error: unknown): boolean => isVdError(error) && error.code === "memory";
