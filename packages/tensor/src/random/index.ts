/** Random numbers that are torch's, for the same seed, on the CPU and on CUDA. */
export {
  CpuGenerator,
  type CpuGeneratorOptions,
  type HalfAlgorithm,
  type RandomArrays,
  type RandomDtype,
  type ShapedNormals,
} from "./cpu-generator";
export { type PhiloxDraw, type PhiloxDtype, PhiloxGenerator, type PhiloxGeneratorOptions } from "./philox-generator";
