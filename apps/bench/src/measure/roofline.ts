import type { Rates } from "../doctor/rates";
import type { BenchRow } from "./report";

/** What a row reaches of a device's rates. */
export interface RooflineShare {
  /** Of the bandwidth of a large copy. */
  bandwidth: number;
  /** The least time that bytes and arithmetic need at the device's rates, over the time taken: above 1 where a cache or a
   *  faster kind of product helps. Source: https://doi.org/10.1145/1498765.1498785. */
  roofline: number;
}

/** What a row reaches, or undefined for one without a time or without known work. */
export function rooflineShare({ medianUs, bytes, flops }: BenchRow, rates: Rates): RooflineShare | undefined {
  if (medianUs === undefined || bytes === undefined || flops === undefined) return undefined;
  const copyUs = bytes / rates.copyGbPerS / 1e3;
  const matrixUs = flops / rates.matrixTflopPerS / 1e6;
  return { bandwidth: copyUs / medianUs, roofline: Math.max(copyUs, matrixUs) / medianUs };
}

/** A share in percent. */
export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
