import { type TensorToWrite, toBfloat16Array, toFloat16Array } from "@vd/tensor";

/** A LoRA of one weight, in numbers that can be checked by hand. */
export interface MadeUpLora {
  /** Of the weight, in the folder layout. */
  module: string;
  /** Of the weight. */
  shape: readonly number[];
  rank: number;
  alpha: number;
}

/** Numbers of about 0.1 that float16 and bfloat16 hold exactly. */
const numbers = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => ((((i + 1) * 7919 + seed * 104_729) % 33) - 16) / 128);

const product = (sizes: readonly number[]) => sizes.reduce((all, size) => all * size, 1);

/** Both halves: down [rank, inputs, …filter], up [outputs, rank, 1…]. */
export function halvesOf({ shape, rank }: MadeUpLora): { down: Float32Array; up: Float32Array } {
  return { down: numbers(rank * product(shape.slice(1)), rank), up: numbers(shape[0]! * rank, shape[0]! + rank) };
}

const ENCODERS = { F32: (values: Float32Array) => values, F16: toFloat16Array, BF16: toBfloat16Array } as const;

/** The tensors of a file. name: makes a key out of the module's name and the part. */
export function tensorsOf(
  lora: MadeUpLora,
  name: (module: string, part: "down" | "up" | "alpha") => string,
  dtype: keyof typeof ENCODERS = "F32",
): TensorToWrite[] {
  const { module, shape, rank, alpha } = lora;
  const { down, up } = halvesOf(lora);
  const ones = shape.slice(2).map(() => 1);
  return [
    { name: name(module, "down"), dtype, shape: [rank, ...shape.slice(1)], data: ENCODERS[dtype](down) },
    { name: name(module, "up"), dtype, shape: [shape[0]!, rank, ...ones], data: ENCODERS[dtype](up) },
    { name: name(module, "alpha"), dtype: "F32", shape: [], data: Float32Array.of(alpha) },
  ];
}

/** W + weight · alpha / rank · up · down, element by element in float64. */
export function reference(base: ArrayLike<number>, lora: MadeUpLora, weight: number): Float64Array {
  const { shape, rank, alpha } = lora;
  const { down, up } = halvesOf(lora);
  const inputs = product(shape.slice(1));
  return Float64Array.from(base, (value, at) => {
    const [k, j] = [Math.floor(at / inputs), at % inputs];
    let dot = 0;
    for (let r = 0; r < rank; r++) dot += up[k * rank + r]! * down[r * inputs + j]!;
    return value + weight * (alpha / rank) * dot;
  });
}

/** Keys as PEFT, kohya and kohya over the original names write them. */
export const peftName = (module: string, part: "down" | "up" | "alpha") =>
  `unet.${module}.${{ down: "lora_A.weight", up: "lora_B.weight", alpha: "alpha" }[part]}`;
export const kohyaName = (module: string, part: "down" | "up" | "alpha") =>
  `lora_unet_${module.replaceAll(".", "_")}.${{ down: "lora_down.weight", up: "lora_up.weight", alpha: "alpha" }[part]}`;
