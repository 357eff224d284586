import { writeFileSync } from "node:fs";
import { numbers } from "@vd/conformance";
import { type Plain, plain } from "@vd/kernels-native/references";
import { type TensorToWrite, toFloat16Array, writeSafetensors } from "@vd/tensor";

/** The same numbers under other dimensions. */
export const shaped = ({ data }: Plain, dims: readonly number[]): Plain => ({ dims, data });

/** Planes [B,C,H,W] or [B,C,F,H,W] as pixels [B,F,H,W,C]. */
export function pixelsOf({ dims, data }: Plain): Plain {
  const [b, c, ...rest] = dims as [number, number, ...number[]];
  const [f, h, w] = rest.length === 3 ? rest : [1, ...rest];
  return plain([b, f!, h!, w!, c], (i, j, y, x, k) => data[(((i * c + k) * f! + j) * h! + y) * w! + x]!);
}

/** Pixels as planes of `rank` dimensions. */
export function planesOf({ dims, data }: Plain, rank: number): Plain {
  const [b, f, h, w, c] = dims as [number, number, number, number, number];
  const planes = plain([b, c, f, h, w], (i, k, j, y, x) => data[(((i * f + j) * h + y) * w + x) * c + k]!);
  return { dims: rank === 5 ? planes.dims : [b, c, h, w], data: planes.data };
}

/** Collects the tensors of a fixture whose results are computed in float64. */
export class GoldenMaker {
  private readonly tensors: TensorToWrite[] = [];
  readonly cases: Record<string, unknown> = {};

  /** Random numbers that float16 holds exactly, stored as `in.<name>`. positive: above 0, for variances. */
  random(name: string, dims: readonly number[], positive = false): Plain {
    const count = dims.reduce((product, size) => product * size, 1);
    const values = numbers(name, count).map(
      (value) => Math.round(128 * (positive ? Math.abs(value) + 0.5 : value)) / 128,
    );
    this.tensors.push({ name: `in.${name}`, dtype: "F16", shape: dims, data: toFloat16Array(values) });
    return { dims, data: Float64Array.from(values) };
  }

  /** Whole numbers, stored as `in.<name>`. */
  given(name: string, dtype: "I32" | "F32" | "BOOL", dims: readonly number[], values: readonly number[]): Plain {
    const data = { I32: Int32Array, F32: Float32Array, BOOL: Uint8Array }[dtype].from(values);
    this.tensors.push({ name: `in.${name}`, dtype, shape: dims, data });
    return { dims, data: Float64Array.from(values) };
  }

  /** Stores a result as `out.<name>`. */
  result(name: string, { dims, data }: Plain): void {
    this.tensors.push({ name: `out.${name}`, dtype: "F32", shape: dims, data: Float32Array.from(data) });
  }

  /** Writes both files; returns the JSON's path. */
  write(stem: string, json: object): string {
    writeSafetensors(`${stem}.safetensors`, this.tensors);
    writeFileSync(`${stem}.json`, JSON.stringify({ ...json, cases: this.cases }));
    return `${stem}.json`;
  }
}
