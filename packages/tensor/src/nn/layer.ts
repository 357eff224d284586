import {
  COUNT,
  FLAG,
  having,
  listOf,
  numberFrom,
  oneOfThese,
  optional,
  QUANTIZED,
  requireArgument,
  requireFields,
  TEXT,
  type WantedFields,
  wholeFrom,
} from "@vd/kernels-native";
import { TENSOR } from "../tensor";

/** Weights by their names in a checkpoint. */
const WEIGHTS = having("weights", ["tensor", "at", "path"], "Weights.open reads those of a file.");

/** [frames, height, width]. */
export const EXTENT = listOf(COUNT, 3);

/** Around [frames, height, width], two for each. */
export const BORDER = listOf(wholeFrom(0), 6);

/** What is added to a variance. */
export const EPS = numberFrom(0);

/** Fields that configurations of many layers have. */
export const MAYBE = { count: optional(COUNT), flag: optional(FLAG), eps: optional(EPS) } as const;

/** Of a linear layer. */
export const LINEAR = { cin: COUNT, cout: COUNT, bias: MAYBE.flag };

/** Of a convolution, with a norm behind it or without. */
export const CONV = {
  ...{ cin: COUNT, cout: COUNT, kernel: EXTENT, stride: optional(EXTENT), padding: optional(BORDER) },
  ...{ groups: MAYBE.count, upsample: MAYBE.flag, bias: MAYBE.flag, flat: MAYBE.flag, eps: MAYBE.eps },
};

/** How numbers become 8 bits. */
export const QUANTIZATION = {
  ...{ dtype: optional(oneOfThese(QUANTIZED)), per: optional(oneOfThese(["tensor", "row", "block"])) },
  ...{ scale: optional(TENSOR), name: optional(TEXT) },
};

/** A weight in 8 bits. */
export const QUANTIZED_WEIGHT = { weight: TENSOR, weightScale: TENSOR };

/**
 * Returns if a layer can be made: of weights, and of a configuration whose fields are what the layer wants.
 *
 * @param where the function that makes it
 * @throws VdError `attr`
 */
export function requireLayer(where: string, w: unknown, config: unknown, fields: WantedFields): void {
  requireArgument(`${where} w`, w, WEIGHTS);
  requireFields(where, config, fields);
}
