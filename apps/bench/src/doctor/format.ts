import { isVdError } from "@vd/kernels-native";

/** Bytes as text, in GiB. */
export const inGibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** What went wrong, without the hint, which stands in the advice. */
export function reason(error: unknown): string {
  if (isVdError(error)) return `expected ${error.expected}, got ${error.got} (${error.where})`;
  return error instanceof Error ? error.message : String(error);
}
