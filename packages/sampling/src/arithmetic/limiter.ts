import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import type { SamplerOptions } from "../options";
import { cast, clamp, type LatentDtype, type Values } from "./values";

/** How a sampler keeps its data prediction within bounds. */
export type DataBounds =
  | {
      kind: "clip";
      /** Magnitudes end there. */
      range: number;
    }
  | {
      /** Dynamic thresholding, section 2.3 of https://arxiv.org/abs/2205.11487. */
      kind: "threshold";
      /** Which quantile of the magnitudes is the divisor, once it is within 1 and `maxValue`. */
      quantile: number;
      maxValue: number;
      /** Equal parts, one after another, each with a quantile of its own. */
      batch: number;
    };

/** Keeps a data prediction within a sampler's bounds. */
export type Limiter = (data: Values) => Values;

/** What keeps data within `bounds`; without bounds it leaves them alone. */
export function limiterOf(bounds: DataBounds | undefined): Limiter {
  if (bounds === undefined) return (data) => data;
  if (bounds.kind === "clip") return (data) => clamp(data, bounds.range);
  return threshold(bounds.quantile, bounds.maxValue, bounds.batch);
}

/** torch.quantile with linear interpolation in float32; `sorted` rises. */
function quantile(sorted: Float32Array, ratio: number): number {
  const rank = Math.fround(Math.fround(ratio) * (sorted.length - 1));
  const below = sorted[Math.floor(rank)]!;
  const above = sorted[Math.ceil(rank)]!;
  const weight = Math.fround(rank - Math.floor(rank));
  const span = Math.fround(above - below);
  return weight < 0.5 ? Math.fround(below + weight * span) : Math.fround(above - span * Math.fround(1 - weight));
}

function thresholdPart(part: Float32Array, ratio: number, max: number): Float32Array {
  const scale = Math.min(Math.max(quantile(part.map(Math.abs).sort(), ratio), 1), Math.fround(max));
  return part.map((value) => Math.min(Math.max(value, -scale), scale) / scale);
}

/**
 * Dynamic thresholding: each batch row is clamped to its own quantile of magnitudes, between 1 and `max`, and divided
 * by it. Source: section 2.3 of https://arxiv.org/abs/2205.11487.
 */
function threshold(ratio: number, max: number, batch: number): Limiter {
  return ({ data, dtype }) => {
    const length = data.length / batch;
    if (!Number.isInteger(length)) {
      const expected = `${batch} parts of equal length`;
      throw new VdError({ code: "shape", where: "thresholding", expected, got: `${data.length} values` });
    }
    const result = new Float32Array(data.length);
    for (let row = 0; row < batch; row++) {
      const [from, to] = [row * length, (row + 1) * length];
      result.set(thresholdPart(data.subarray(from, to), ratio, max), from);
    }
    return castBack(result, dtype);
  };
}

function castBack(data: Float32Array, dtype: LatentDtype): Values {
  return cast({ data, dtype: "float32" }, dtype);
}

/** Reads `thresholding`, `dynamic_thresholding_ratio` and `sample_max_value`; undefined when it is off. */
export function readThresholding(reader: ConfigReader, options: SamplerOptions): DataBounds | undefined {
  if (!reader.flag("thresholding", false)) return undefined;
  const quantile = reader.number("dynamic_thresholding_ratio", 0.995);
  const batch = options.batch ?? 1;
  if (!Number.isInteger(batch) || batch < 1) {
    throw new VdError({ code: "attr", where: "batch", expected: "an integer of at least 1", got: String(batch) });
  }
  return { kind: "threshold", quantile, maxValue: reader.number("sample_max_value", 1), batch };
}

/**
 * Thresholding where it is on, else clipping to ±`clip_sample_range` where `clip_sample` is on.
 *
 * @throws VdError `attr`
 */
export function readBounds(
  reader: ConfigReader,
  options: SamplerOptions,
  clipByDefault: boolean,
): DataBounds | undefined {
  const thresholding = readThresholding(reader, options);
  if (thresholding !== undefined) return thresholding;
  if (!reader.flag("clip_sample", clipByDefault)) return undefined;
  return { kind: "clip", range: reader.number("clip_sample_range", 1) };
}
