/** ok: nothing to do; note: works, could be better, or is not needed; slow: works, much slower than such a machine should;
 *  failed: something will not work. */
export type Verdict = "ok" | "note" | "slow" | "failed";

/** One thing that was looked at. */
export interface Check {
  name: string;
  verdict: Verdict;
  /** What was found. */
  found: string;
  /** What to do about it; there is some unless the verdict is ok. */
  advice?: string;
}
