import type { DType } from "@vd/kernels-native";
import { packedBytes, type Row } from "@vd/tensor";
import type { Ceilings } from "../ceilings";
import type { Rates } from "./types";

/** What was done, to be set against the time that it took. */
export interface Work {
  bytes: number;
  flops: number;
  /** The least time that the ceilings allow for it; undefined without ceilings. */
  idealUs: number | undefined;
}

/** Nothing done yet. hasCeilings: whether there is something to measure it by. */
export const noWork = (hasCeilings: boolean): Work => ({ bytes: 0, flops: 0, idealUs: hasCeilings ? 0 : undefined });

/** Adds `more` to `work`. */
export function addWork(work: Work, more: Work, times = 1): void {
  work.bytes += more.bytes * times;
  work.flops += more.flops * times;
  if (work.idealUs !== undefined && more.idealUs !== undefined) work.idealUs += more.idealUs * times;
}

/** Bytes and FLOP of one run of a row. dtype: of the activations of its plan. */
export function workOf(row: Row, dtype: DType, ceilings: Ceilings | undefined): Work {
  const tensors = [...row.inputs, ...row.outputs].filter((tensor) => tensor !== undefined);
  const bytes = tensors.reduce((sum, tensor) => sum + packedBytes(tensor.dims, tensor.dtype), 0);
  if (!ceilings) return { bytes, flops: row.flops, idealUs: undefined };
  const flopsPerUs = ceilings.flopsPerUs[dtype];
  const idealUs = Math.max(bytes / ceilings.bytesPerUs, flopsPerUs ? row.flops / flopsPerUs : 0);
  return { bytes, flops: row.flops, idealUs };
}

/** The rates of work that took `totalUs`. */
export function ratesOf({ bytes, flops, idealUs }: Work, totalUs: number): Rates {
  const per = (amount: number, unit: number) => (amount > 0 && totalUs > 0 ? amount / totalUs / unit : null);
  return {
    bytes,
    flops,
    gigabytesPerS: per(bytes, 1e3),
    teraflopPerS: per(flops, 1e6),
    rooflinePercent: idealUs === undefined ? null : per(100 * idealUs, 1),
  };
}
