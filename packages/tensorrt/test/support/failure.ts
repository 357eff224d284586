import { VdError } from "@vd/kernels-native";

/** The VdError that `body` ends with; anything else fails the test. */
export async function failureOf(body: () => unknown): Promise<VdError> {
  try {
    await body();
  } catch (error) {
    if (error instanceof VdError) return error;
    throw error;
  }
  throw new Error("no error");
}
