/** One choice of planners. */
export interface PlannedVariant {
  variant: string;
  workspaceBytes: number;
  launches: number;
  /** That the row could have. */
  numVariants: number;
  /** Where it is the first choice, by the names of device code: sm_90a. */
  architectures: string[];
}

/** reports/planners.json. */
export interface PlannersReport {
  format: "vd-planners";
  version: 1;
  /** Of the activations. */
  dtype: string;
  /** Of the sources that it was made from. */
  kernelHash: string;
  /** name: of a case of `vd-bench ops`. */
  rows: { name: string; variants: PlannedVariant[] }[];
}
