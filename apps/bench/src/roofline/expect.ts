import type { Card, ProductType } from "./cards";
import { isHopperKernel, isProduct, passesOf, type Work } from "./work";

/** How fast kernels are, as measured on a Hopper card. */
export interface KernelRates {
  /** FLOP for each clock of a multiprocessor, by op, of the kernels that other cards use in the place of Hopper's; "" for ops that
   *  were not measured. */
  flopPerClock: Readonly<Record<string, number>>;
  /** Share of the roofline by {@link kindOf}, for work that was not measured itself. */
  shares: Readonly<Record<string, number>>;
}

/** What kernels of work that was not measured are taken to be like. */
export const kindOf = (work: Work): string => `${work.op} ${isProduct(work) ? "products" : "memory"}`;

/** What some work takes on a card. */
export interface Expectation {
  work: Work;
  /** The roofline alone: what the card's products or its memory need at least. */
  leastUs: number;
  /** What is to be expected of the kernels as they are. */
  expectedUs: number;
  /** What the roofline is made of. */
  bound: "products" | "memory";
}

/** Least time of a call's launch in a captured graph: the smallest of all ops take 1.6 to 2.4 µs on an H200. */
export const LAUNCH_US = 2;
/** Share of a large copy's rate in a card's bandwidth, which no kernel exceeds: 4188 of 4800 GB/s on an H200. */
const COPY_SHARE = 0.87;
/** Share of the roofline of kinds of kernels that were not measured. */
const UNKNOWN_SHARE = 0.5;
/** Share of wgmma's rate that mma.sync reaches at most on Hopper. Source: Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU
 *  Architecture, arXiv 2402.13499, table of dense mma and wgmma throughput: about 62 %. */
const HOPPER_MMA_SHARE = 0.62;
/** Share of its peak that float32 without tensor cores is taken to reach where a card has no tf32: assumed, not measured. */
const PLAIN_SHARE = 0.5;

/** Peak of some products in TFLOP/s: what a card has no tensor cores for runs as the next wider type. */
function peakOf({ tflopPerS }: Card, type: ProductType): number {
  const wider: Record<ProductType, readonly ProductType[]> = {
    ...{ f8: ["f8", "f16"], i8: ["i8", "f16"], f16: ["f16"], tf32: ["tf32", "f32"], f32: ["f32"] },
  };
  return tflopPerS[wider[type].find((each) => tflopPerS[each] !== undefined)!]!;
}

const hasType = ({ tflopPerS }: Card, type: ProductType) => tflopPerS[type] !== undefined;

/** FLOP of the products that a card computes: float32 is one product where there is no tf32. */
const productFlops = (card: Card, work: Work) => work.flops * (hasType(card, work.type) ? passesOf(work) : 1);

const perClock = ({ multiprocessors, clockGhz }: Card, tflopPerS: number) =>
  (tflopPerS * 1e3) / (multiprocessors * clockGhz);

/** Least time by the roofline, and which side of it. */
export function rooflineUs(card: Card, work: Work): Pick<Expectation, "leastUs" | "bound"> {
  const products = productFlops(card, work) / peakOf(card, work.type) / 1e6;
  const memory = work.bytes / card.gbPerS / 1e3;
  return products > memory ? { leastUs: products, bound: "products" } : { leastUs: memory, bound: "memory" };
}

/** How long products take whose kernels do as much beside them in a clock as on the measured card. On a card with slower tensor cores
 *  the products themselves take more clocks, and what is beside them (loads, address arithmetic, waiting) as many: nothing is taken to
 *  overlap that did not on the measured card. */
function productsUs(card: Card, measured: Card, work: Work, rates: KernelRates): number {
  const own = perClock(card, peakOf(card, work.type));
  const flops = productFlops(card, work);
  if (work.type === "tf32" && !hasType(card, "tf32")) return flops / (PLAIN_SHARE * card.tflopPerS.f32) / 1e6;
  const reached = reachedPerClock(measured, work, rates);
  const peak = HOPPER_MMA_SHARE * perClock(measured, peakOf(measured, work.type));
  const beside = Math.max(0, 1 / reached - 1 / peak);
  const clocks = flops * (1 / own + beside);
  return clocks / (card.multiprocessors * card.clockGhz) / 1e3;
}

/** FLOP a clock of a multiprocessor that the kernel reaches on the measured card: in this work itself if that used a kernel that all
 *  cards have, else in the measurements of such kernels. */
function reachedPerClock(measured: Card, work: Work, { flopPerClock }: KernelRates): number {
  if (work.measuredUs !== undefined && !isHopperKernel(work))
    return perClock(measured, productFlops(measured, work) / work.measuredUs / 1e6);
  const known = flopPerClock[work.op] ?? flopPerClock[""]!;
  // Operands of half the bytes go through the same kernels in half the clocks.
  return work.type === "f8" || work.type === "i8" ? 2 * known : known;
}

/** What is left of a measured time when launching is taken away, as a multiple of the roofline there. */
function shareOf(measured: Card, work: Work, { shares }: KernelRates): number {
  const { measuredUs, count } = work;
  if (measuredUs === undefined) return shares[kindOf(work)] ?? UNKNOWN_SHARE;
  const { leastUs } = rooflineUs(measured, work);
  return Math.min(leastUs / Math.max(measuredUs - count * LAUNCH_US, Number.EPSILON), 1);
}

/**
 * Expects what some work takes on a card, by calculation: of a card of the measured one's kind the same share of the roofline; of others the
 * same share where memory decides or kernels are the same, and clocks of a multiprocessor where products decide.
 */
export function expectWork(card: Card, measured: Card, work: Work, rates: KernelRates): Expectation {
  const roofline = rooflineUs(card, work);
  const launches = work.count * LAUNCH_US;
  const memoryUs = work.bytes / card.gbPerS / 1e3 / COPY_SHARE;
  const sameKernels = card.capability === measured.capability;
  const us =
    isProduct(work) && !sameKernels
      ? Math.max(productsUs(card, measured, work, rates), memoryUs)
      : roofline.leastUs / shareOf(measured, work, rates);
  // What no roofline explains took its time for other reasons, which no card changes for the better.
  const isTiny = work.measuredUs !== undefined && work.measuredUs <= 2 * launches;
  return { work, ...roofline, expectedUs: isTiny ? Math.max(work.measuredUs!, launches + memoryUs) : launches + us };
}
