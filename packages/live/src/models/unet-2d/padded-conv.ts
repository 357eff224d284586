import { conv, type Module, type Tensor, type Weights } from "@vd/tensor";
import { floatsOf, ownWeight } from "./own-weight";

/** Channels that kernels of all devices load at once. */
const GROUP = 16;

/** The channels of a sample that has room for whole groups: those that the network does not have count for nothing. */
export const paddedChannels = (channels: number): number => Math.ceil(channels / GROUP) * GROUP;

/** A filter with zeros for the channels that {@link paddedChannels} add. weight: [K,C,3,3] → [K,paddedChannels(C),1,3,3]. */
export function padFilter(weight: Tensor): Tensor {
  const [cout, cin] = weight.dims as [number, number];
  const all = paddedChannels(cin);
  const data = new Float32Array(cout * all * 9);
  const values = floatsOf(weight);
  for (let k = 0; k < cout; k++) data.set(values.subarray(k * cin * 9, (k + 1) * cin * 9), k * all * 9);
  return ownWeight(`${weight.storage.name} padded`, data, [cout, all, 1, 3, 3]);
}

/**
 * A 3×3 convolution that also takes samples with {@link paddedChannels}: the filter then has zeros for the channels at the end, so that kernels need
 * not go channel by channel. What lies there must be finite. x: [B,F,H,W,cin] or [B,F,H,W,paddedChannels(cin)] → [B,F,H,W,cout].
 */
export function paddedConv(w: Weights, { cin, cout }: { cin: number; cout: number }): Module<[x: Tensor]> {
  const plain = conv(w, { cin, cout, kernel: [1, 3, 3] });
  const stored = w.tensor("weight", [cout, cin, 3, 3]);
  const bias = w.tensor("bias", [cout]);
  let padded: Tensor | undefined;
  return (g, x) => {
    if (x.dims[x.dims.length - 1] === cin) return plain(g, x);
    padded ??= padFilter(stored);
    return g.conv({ name: w.path, x, weight: padded, bias, padding: [0, 0, 1, 1, 1, 1] });
  };
}
