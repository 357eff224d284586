import { isVdError, type VdError } from "@vd/kernels-native";

/** The VdError that a call or promise fails with; any other outcome fails the test. */
export async function failureOf(work: Promise<unknown> | (() => unknown)): Promise<VdError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (isVdError(error)) return error;
    throw new Error(`expected a VdError, got ${error instanceof Error ? error.stack : String(error)}`);
  }
  throw new Error("expected a VdError, got none");
}

/** The VdError that a call throws; any other outcome fails the test. */
export function thrownBy(call: () => unknown): VdError {
  try {
    call();
  } catch (error) {
    if (isVdError(error)) return error;
    throw error;
  }
  throw new Error("expected a VdError, got a result");
}
