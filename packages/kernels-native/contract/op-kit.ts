/** Everything an op definition needs, in one import. */
export * from "./attention";
export * from "./conv";
export * from "./conv-q8";
export * from "./define-op";
export * from "./dtype";
export * from "./epilogue";
export * from "./expr";
export * from "./group-norm";
export * from "./group-norm-conv";
export * from "./layer-norm";
export * from "./layer-norm-linear-q8";
export * from "./linear-q8";
export * from "./modulation";
