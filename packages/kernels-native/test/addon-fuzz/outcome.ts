import { ERROR_CODES } from "../../contract/error-codes";

/** How often each way to end was met. */
export type Tally = Map<string, number>;

/** Thrown by hostile getters; it must come back unchanged. */
export const SENTINEL = new Error("from a getter");

/** The kind of an error that the addon may throw; anything else is rethrown. */
export function kindOf(error: unknown): string {
  if (error === SENTINEL) return "the caller's own";
  if (error instanceof TypeError) return "TypeError";
  if (!(error instanceof Error) || !("vdCode" in error)) throw error;
  const fields = error as Error & Record<"vdCode" | "where" | "expected" | "got" | "hint", unknown>;
  const worded = [fields.where, fields.expected, fields.got, fields.hint].every((text) => typeof text === "string");
  const unforeseen = fields.where === "addon" && fields.vdCode === "internal";
  if (!worded || unforeseen || !(String(fields.vdCode) in ERROR_CODES)) throw error;
  return String(fields.vdCode);
}

/** Calls `body`, waits for what it promises, and counts how it ended. */
export async function outcome(tally: Tally, body: () => unknown): Promise<unknown> {
  let [ending, value] = ["value", undefined as unknown];
  try {
    value = await body();
  } catch (error) {
    ending = kindOf(error);
  }
  tally.set(ending, (tally.get(ending) ?? 0) + 1);
  return value;
}
