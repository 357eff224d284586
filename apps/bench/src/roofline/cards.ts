/** Types of operands that tensor cores multiply, with float32 sums (integers: whole ones). */
export type ProductType = "f16" | "tf32" | "f8" | "i8" | "f32";

/** What a card can do at most, as its maker says. */
export interface Card {
  /** As the command line has it. */
  id: string;
  /** Names that the driver gives it. */
  names: readonly string[];
  /** Compute capability times ten: 89. */
  capability: number;
  /** Dense products in TFLOP/s at boost clock by the type of operands; f16 and f8 with float32 sums, which GeForce cards do at half the
   *  rate of 16-bit sums. undefined: tensor cores have no such product. f32: without tensor cores. */
  tflopPerS: Readonly<Record<"f16" | "f32", number> & Partial<Record<ProductType, number>>>;
  /** Memory bandwidth in GB/s, and memory in GiB. */
  gbPerS: number;
  gibibytes: number;
  /** One direction of its host link in GB/s. */
  linkGbPerS: number;
  multiprocessors: number;
  /** Boost clock in GHz. */
  clockGhz: number;
}

/** PCIe of 16 lanes, one direction, GB/s. Source: PCI Express base specification, 8, 16 and 32 GT/s. */
const PCIE = { gen3: 15.8, gen4: 31.5, gen5: 63 } as const;

/**
 * All cards that are known, the fastest first. Sources: NVIDIA's data sheets of B200, H200, H100 (SXM and PCIe), A100 (SXM and PCIe), L40S,
 * L4 and T4, without sparsity; GeForce: white papers "NVIDIA RTX Blackwell GPU Architecture" (table of the RTX 5090), "NVIDIA Ada GPU
 * Architecture" (RTX 4090) and "NVIDIA Ampere GA102 GPU Architecture" (RTX 3090).
 */
export const CARDS: readonly Card[] = [
  {
    ...{ id: "b200", names: ["NVIDIA B200"], capability: 100, gbPerS: 8000, gibibytes: 180, linkGbPerS: PCIE.gen5 },
    ...{ multiprocessors: 148, clockGhz: 1.855, tflopPerS: { f16: 2250, tf32: 1125, f8: 4500, i8: 4500, f32: 75 } },
  },
  {
    ...{ id: "h200", names: ["NVIDIA H200"], capability: 90, gbPerS: 4800, gibibytes: 141, linkGbPerS: PCIE.gen5 },
    ...{ multiprocessors: 132, clockGhz: 1.83, tflopPerS: { f16: 989, tf32: 494, f8: 1979, i8: 1979, f32: 67 } },
  },
  {
    ...{ id: "h100", names: ["NVIDIA H100 80GB HBM3"], capability: 90, gbPerS: 3350, gibibytes: 80 },
    ...{ linkGbPerS: PCIE.gen5, multiprocessors: 132, clockGhz: 1.83 },
    tflopPerS: { f16: 989, tf32: 494, f8: 1979, i8: 1979, f32: 67 },
  },
  {
    ...{ id: "h100-pcie", names: ["NVIDIA H100 PCIe"], capability: 90, gbPerS: 2000, gibibytes: 80 },
    ...{ linkGbPerS: PCIE.gen5, multiprocessors: 114, clockGhz: 1.62 },
    tflopPerS: { f16: 756, tf32: 378, f8: 1513, i8: 1513, f32: 51 },
  },
  {
    ...{ id: "a100", names: ["NVIDIA A100-SXM4-80GB"], capability: 80, gbPerS: 2039, gibibytes: 80 },
    ...{ linkGbPerS: PCIE.gen4, multiprocessors: 108, clockGhz: 1.41 },
    tflopPerS: { f16: 312, tf32: 156, i8: 624, f32: 19.5 },
  },
  {
    ...{ id: "a100-40gb", names: ["NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB"], capability: 80, gbPerS: 1555 },
    ...{ gibibytes: 40, linkGbPerS: PCIE.gen4, multiprocessors: 108, clockGhz: 1.41 },
    tflopPerS: { f16: 312, tf32: 156, i8: 624, f32: 19.5 },
  },
  {
    ...{ id: "a100-pcie", names: ["NVIDIA A100 80GB PCIe"], capability: 80, gbPerS: 1935, gibibytes: 80 },
    ...{ linkGbPerS: PCIE.gen4, multiprocessors: 108, clockGhz: 1.41 },
    tflopPerS: { f16: 312, tf32: 156, i8: 624, f32: 19.5 },
  },
  {
    ...{ id: "l40s", names: ["NVIDIA L40S"], capability: 89, gbPerS: 864, gibibytes: 48, linkGbPerS: PCIE.gen4 },
    ...{ multiprocessors: 142, clockGhz: 2.52, tflopPerS: { f16: 362, tf32: 183, f8: 733, i8: 733, f32: 91.6 } },
  },
  {
    ...{ id: "rtx5090", names: ["NVIDIA GeForce RTX 5090"], capability: 120, gbPerS: 1792, gibibytes: 32 },
    ...{ linkGbPerS: PCIE.gen5, multiprocessors: 170, clockGhz: 2.407 },
    tflopPerS: { f16: 209.5, tf32: 104.8, f8: 419, i8: 838, f32: 104.8 },
  },
  {
    ...{ id: "rtx4090", names: ["NVIDIA GeForce RTX 4090"], capability: 89, gbPerS: 1008, gibibytes: 24 },
    ...{ linkGbPerS: PCIE.gen4, multiprocessors: 128, clockGhz: 2.52 },
    tflopPerS: { f16: 165.2, tf32: 82.6, f8: 330.3, i8: 660.6, f32: 82.6 },
  },
  {
    ...{ id: "rtx3090", names: ["NVIDIA GeForce RTX 3090"], capability: 86, gbPerS: 936, gibibytes: 24 },
    ...{ linkGbPerS: PCIE.gen4, multiprocessors: 82, clockGhz: 1.695 },
    tflopPerS: { f16: 71.2, tf32: 35.6, i8: 284, f32: 35.6 },
  },
  {
    ...{ id: "l4", names: ["NVIDIA L4"], capability: 89, gbPerS: 300, gibibytes: 24, linkGbPerS: PCIE.gen4 },
    ...{ multiprocessors: 58, clockGhz: 2.04, tflopPerS: { f16: 121, tf32: 60, f8: 242, i8: 242, f32: 30.3 } },
  },
  {
    ...{ id: "t4", names: ["Tesla T4"], capability: 75, gbPerS: 300, gibibytes: 16, linkGbPerS: PCIE.gen3 },
    ...{ multiprocessors: 40, clockGhz: 1.59, tflopPerS: { f16: 65, i8: 130, f32: 8.1 } },
  },
];

/** The card of this name, as the driver gives it. */
export const cardOfDevice = (device: string): Card | undefined => CARDS.find(({ names }) => names.includes(device));
