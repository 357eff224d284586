import { callback, object } from "./kinds";
import type { OptionRow } from "./option";

/** What cancels; each table says what happens then. */
export const SIGNAL = {
  kind: object({
    ...{ type: "AbortSignal", expected: "an AbortSignal", hint: "Pass the signal of an AbortController." },
    is: (value) => {
      const { addEventListener, aborted } = Object(value) as Partial<AbortSignal>;
      return typeof addEventListener === "function" && typeof aborted === "boolean";
    },
  }),
} as const;

/** What hears of the progress. */
export const PROGRESS = {
  kind: callback("((event: ProgressEvent) => void)", "ProgressEvent"),
  doc: "Called with what is being done and how far it has come. If it throws, or answers with a promise that rejects, the work fails with its error.",
} as const satisfies OptionRow;
