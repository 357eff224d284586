import { isVdError, type VdError } from "@vd/kernels-native";

/** The VdError that `body` throws; any other outcome fails. */
export function failure(body: () => unknown): VdError {
  try {
    body();
  } catch (error) {
    if (isVdError(error)) return error;
    throw error;
  }
  throw new Error("expected a VdError, got none");
}

/** The VdError that `promise` rejects with; any other outcome fails. */
export async function rejection(promise: Promise<unknown>): Promise<VdError> {
  try {
    await promise;
  } catch (error) {
    if (isVdError(error)) return error;
    throw error;
  }
  throw new Error("expected a VdError, got none");
}
