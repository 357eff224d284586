/** Everything a float64 reference needs, in one import. */
export * from "./activations";
export * from "./attention";
export * from "./conv-q8";
export * from "./epilogue";
export * from "./gates";
export * from "./linear";
export * from "./linear-q8";
export * from "./modulation";
export * from "./moments";
export * from "./normed-conv";
export * from "./norms";
export * from "./plain";
export * from "./rounding";
export * from "./transposed-conv";
