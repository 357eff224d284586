import type { DType } from "@vd/kernels-native";
import { VdError } from "@vd/kernels-native";

/** Type of activations. */
export type VaePrecision = "float32" | "float16" | "bfloat16";

/** Every precision, and what kernels call it. */
export const PRECISIONS: Readonly<Record<VaePrecision, DType>> = { float32: "f32", float16: "f16", bfloat16: "bf16" };

/** What a model has turned on. All of it off is the plain path: ops one by one, as PyTorch runs them without a compiler. */
export interface OptimizationSwitches {
  /** Kernel variants that were measured on this card, with at most 256 MiB of working memory each. */
  readonly autotune: boolean;
  /** Group norms apply the SiLU behind them. */
  readonly fusedSilu: boolean;
  /** Convolutions read the small map where nearest-2× upsampling comes before them. */
  readonly fusedUpsample: boolean;
  /** 3x3 convolutions of large 16-bit maps normalise channel groups by themselves, on a Hopper GPU. */
  readonly fusedNorm: boolean;
  /** 3x3 convolutions of float16 maps use Winograd's transforms where that is faster. */
  readonly winograd: boolean;
  /** Latents are drawn from the encoder's Gaussian on the device: mean + deviation · noise. */
  readonly fusedReparameterization: boolean;
  /** Type of activations. */
  readonly precision: VaePrecision;
  /** 8-bit matrix products. */
  readonly fp8: boolean;
}

/** Everything off. */
export const PLAIN: OptimizationSwitches = {
  autotune: false,
  fusedSilu: false,
  fusedUpsample: false,
  fusedNorm: false,
  winograd: false,
  fusedReparameterization: false,
  precision: "float32",
  fp8: false,
};

/** A precision by its name. @throws VdError `attr` */
export function checkPrecision(where: string, value: unknown): VaePrecision {
  if (typeof value === "string" && Object.hasOwn(PRECISIONS, value)) return value as VaePrecision;
  throw new VdError({
    code: "attr",
    where,
    expected: `one of ${Object.keys(PRECISIONS).join(", ")}`,
    got: String(value),
  });
}
