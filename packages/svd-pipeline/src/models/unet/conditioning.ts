import type { Tensor } from "@vd/tensor";

/** What the picture's embedding means to a block: with one token a vector per clip, else the tokens themselves. */
export type Cross = { kind: "folded"; vectors: Tensor } | { kind: "tokens"; context: Tensor };
