import { requireTensor, type Storage, type Tensor } from "../tensor";

/** The learned scale and shift of a batch norm, [K] each: the size of what it leaves. */
export interface FoldedNorm {
  weight: Tensor;
  bias: Tensor;
}

const BY_BIAS = new WeakMap<Storage, FoldedNorm>();

/** Remembers which batch norm a convolution's bias was made of. */
export function noteFoldedNorm(bias: Tensor, norm: FoldedNorm): void {
  BY_BIAS.set(bias.storage, norm);
}

/** Returns the batch norm that was folded into a convolution with that bias; undefined if none was. */
export function foldedNorm(bias: Tensor): FoldedNorm | undefined {
  requireTensor("foldedNorm", bias);
  return BY_BIAS.get(bias.storage);
}
