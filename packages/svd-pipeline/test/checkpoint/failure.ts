import { isVdError, type VdError } from "@vd/kernels-native";

/** The VdError that a call throws. */
export function failureOf(call: () => unknown): VdError {
  try {
    call();
  } catch (error) {
    if (isVdError(error)) return error;
    throw error;
  }
  throw new Error("expected a VdError, got a result");
}
