export * from "../ops/elementwise/instructions";
export * from "./define-case";
export * from "./define-op";
export * from "./dtype";
export * from "./epilogue";
export * from "./error-codes";
export * from "./expr";
export * from "./layout";
export { CPU_FAST_PATHS, OPS, type OpId } from "./ops.generated";
