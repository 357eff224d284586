import type { ProductType } from "./cards";

/** Work of some calls that do the same over the same shape, and what it took on the card that was measured. */
export interface Work {
  /** The op, with its shape. */
  name: string;
  op: string;
  /** Of the operands of products. */
  type: ProductType;
  flops: number;
  /** Operands read plus results written. */
  bytes: number;
  /** Calls in it. */
  count: number;
  /** The kernel that the measured card chose; undefined where nothing was measured. */
  variant?: string | undefined;
  /** Of all calls; undefined where nothing was measured. */
  measuredUs?: number | undefined;
}

/** Ops of large products: convolution, linear, the same behind a norm, attention, and what computes those in 8 bits. */
const PRODUCT_OPS = /^(conv|linear|layer_norm_linear|attention)(_q8)?$/;
/** Operations for each byte above which an op is bound by its products on every card known here. */
const PRODUCT_INTENSITY = 32;

/** Products of tensor cores for each product of float32: how many tf32 ones the kernel sums, two unless its name says three. Plain
 *  types need one. */
export const passesOf = ({ type, variant = "" }: Work): number =>
  type !== "tf32" ? 1 : /tf32x3/.test(variant) ? 3 : 2;

/** Whether the products of some work decide how long it takes. */
export const isProduct = ({ op, flops, bytes }: Work): boolean =>
  PRODUCT_OPS.test(op) && flops > PRODUCT_INTENSITY * bytes;

/** How the names of kernels begin that exist on Hopper alone. */
export const HOPPER_KERNELS = "sm90";

/** Whether the kernel that the measured card chose exists on Hopper alone. */
export const isHopperKernel = ({ variant = "" }: Work): boolean => variant.startsWith(HOPPER_KERNELS);

const TYPES: readonly [pattern: RegExp, type: ProductType][] = [
  [/f8e4m3/, "f8"],
  [/\bi8\b/, "i8"],
  [/f16|bf16/, "f16"],
];

/** The type of products by the type of the first operand, or a name that has it; float32 is multiplied as tf32. */
export const typeOf = (text: string): ProductType => TYPES.find(([pattern]) => pattern.test(text))?.[1] ?? "tf32";
