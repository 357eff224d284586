/** One weight of a checkpoint, and the numbers that it gets. */
export interface SyntheticTensor {
  name: string;
  shape: readonly number[];
  /** Normal numbers of this mean and deviation. */
  mean: number;
  deviation: number;
}

/** Norms are near the identity but not it, so that mistakes with scale and shift show. */
const NORM_DEVIATION = 0.1;
const BIAS_DEVIATION = 0.05;

/** Gains of layers, relative to a deviation of 1/√(inputs), which keeps the size of what goes through. */
export const GAIN = {
  plain: 1,
  /** The last layer of a residual branch: dozens of branches add up. */
  branch: 0.4,
  /** Queries and keys: scores then spread by about 2, so that attention prefers some tokens. */
  score: 1.4,
} as const;

/** Options of one layer. */
export interface LayerOptions {
  gain?: number;
  bias?: boolean;
}

/** Collects the tensors of a model in the names of its published checkpoints. */
export class TensorList {
  readonly tensors: SyntheticTensor[] = [];

  /** One tensor of normal numbers. */
  add(name: string, shape: readonly number[], mean: number, deviation: number): void {
    this.tensors.push({ name, shape, mean, deviation });
  }

  /** Weight [channels] around 1 and bias around 0. */
  norm(name: string, channels: number): void {
    this.add(`${name}.weight`, [channels], 1, NORM_DEVIATION);
    this.add(`${name}.bias`, [channels], 0, NORM_DEVIATION);
  }

  /** Weight [to, from], bias [to]. */
  linear(name: string, from: number, to: number, options: LayerOptions = {}): void {
    this.layer(name, [to, from], options);
  }

  /** Weight [to, from, ...kernel], bias [to]. */
  conv(name: string, from: number, to: number, kernel: readonly number[], options: LayerOptions = {}): void {
    this.layer(name, [to, from, ...kernel], options);
  }

  /** The weight between a spatial and a temporal branch, before its sigmoid: away from 0, where both count alike. */
  mixFactor(name: string): void {
    this.add(`${name}.mix_factor`, [1], 0.8, 0.2);
  }

  private layer(name: string, shape: readonly number[], { gain = GAIN.plain, bias = true }: LayerOptions): void {
    const fanIn = shape.slice(1).reduce((product, size) => product * size, 1);
    this.add(`${name}.weight`, shape, 0, gain / Math.sqrt(fanIn));
    if (bias) this.add(`${name}.bias`, [shape[0]!], 0, BIAS_DEVIATION);
  }
}

/** A spatial residual block, then a temporal one, and their mix. embedding: width of the time embedding, if it has one. */
export function spatioTemporalResTensors(
  list: TensorList,
  name: string,
  { cin, cout, embedding }: { cin: number; cout: number; embedding?: number },
): void {
  resTensors(list, `${name}.spatial_res_block`, { cin, cout, kernel: [3, 3], embedding });
  resTensors(list, `${name}.temporal_res_block`, { cin: cout, cout, kernel: [3, 1, 1], embedding });
  list.mixFactor(`${name}.time_mixer`);
}

/** Norm, convolution, norm, convolution, and a shortcut where the number of channels changes. */
export function resTensors(
  list: TensorList,
  name: string,
  shape: { cin: number; cout: number; kernel: readonly number[]; embedding?: number | undefined },
): void {
  const { cin, cout, kernel, embedding } = shape;
  list.norm(`${name}.norm1`, cin);
  list.conv(`${name}.conv1`, cin, cout, kernel);
  if (embedding !== undefined) list.linear(`${name}.time_emb_proj`, embedding, cout);
  list.norm(`${name}.norm2`, cout);
  list.conv(`${name}.conv2`, cout, cout, kernel, { gain: GAIN.branch });
  if (cin !== cout)
    list.conv(
      `${name}.conv_shortcut`,
      cin,
      cout,
      kernel.map(() => 1),
    );
}
