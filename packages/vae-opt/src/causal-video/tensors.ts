import { type CausalVaeConfig, checkCausalVaeConfig } from "./config";

/** A tensor of a checkpoint. */
export interface CheckpointTensor {
  name: string;
  shape: readonly number[];
}

type Tensors = Generator<CheckpointTensor, void, void>;

function* affine(name: string, shape: readonly number[]): Tensors {
  yield { name: `${name}.weight`, shape };
  yield { name: `${name}.bias`, shape: shape.slice(0, 1) };
}

const conv = (name: string, cin: number, cout: number, frames: 1 | 3 = 3, side: 1 | 3 = 3): Tensors =>
  affine(name, [cout, cin, frames, side, side]);

function* resBlock(name: string, cin: number, cout: number): Tensors {
  yield* affine(`${name}.norm1`, [cin]);
  yield* conv(`${name}.conv1`, cin, cout);
  yield* affine(`${name}.norm2`, [cout]);
  yield* conv(`${name}.conv2`, cout, cout);
  if (cin !== cout) yield* conv(`${name}.conv_shortcut`, cin, cout, 1, 1);
}

function* middle(name: string, channels: number): Tensors {
  yield* resBlock(`${name}.resnets.0`, channels, channels);
  yield* affine(`${name}.attentions.0.group_norm`, [channels]);
  for (const part of ["to_q", "to_k", "to_v", "to_out.0"])
    yield* affine(`${name}.attentions.0.${part}`, [channels, channels]);
  yield* resBlock(`${name}.resnets.1`, channels, channels);
}

function* ends(name: string, [cin, first]: readonly number[], [last, cout]: readonly number[]): Tensors {
  yield* conv(`${name}.conv_in`, cin!, first!);
  yield* affine(`${name}.conv_norm_out`, [last!]);
  yield* conv(`${name}.conv_out`, last!, cout!);
}

function* encoder(config: CausalVaeConfig): Tensors {
  const { blockOutChannels, latentChannels, layersPerBlock, temporalLevels } = config;
  const last = blockOutChannels.length - 1;
  const top = blockOutChannels[last]!;
  let channels = blockOutChannels[0]!;
  yield* ends("encoder", [config.inChannels, channels], [top, 2 * latentChannels]);
  for (const [level, cout] of blockOutChannels.entries()) {
    const name = `encoder.down_blocks.${level}`;
    for (let i = 0; i < layersPerBlock; i++) {
      yield* resBlock(`${name}.resnets.${i}`, channels, cout);
      channels = cout;
    }
    const frames = level >= last - temporalLevels ? 3 : 1;
    if (level < last) yield* conv(`${name}.downsamplers.0.conv`, channels, channels, frames);
  }
  yield* middle("encoder.mid_block", top);
}

function* decoder(config: CausalVaeConfig): Tensors {
  const { layersPerBlock, temporalLevels } = config;
  const reversed = [...config.blockOutChannels].reverse();
  const last = reversed.length - 1;
  let channels = reversed[0]!;
  yield* ends("decoder", [config.latentChannels, channels], [reversed[last]!, config.outChannels]);
  yield* middle("decoder.mid_block", channels);
  for (const [level, cout] of reversed.entries()) {
    const name = `decoder.up_blocks.${level}`;
    for (let i = 0; i <= layersPerBlock; i++) {
      yield* resBlock(`${name}.resnets.${i}`, channels, cout);
      channels = cout;
    }
    if (level === last) continue;
    const growth = level < temporalLevels ? 8 : 4;
    yield* conv(`${name}.upsamplers.0.upscale_conv`, channels, growth * channels, 1, 1);
    yield* conv(`${name}.upsamplers.0.conv`, channels, channels);
  }
}

/** Yields the tensors that a checkpoint of this configuration has, by the names under which SeedVR2's is published.
 *  @throws VdError `attr` for what is no configuration */
export function* causalVaeTensors(config: CausalVaeConfig): Generator<CheckpointTensor, void, void> {
  checkCausalVaeConfig(config, "causalVaeTensors config");
  const { latentChannels } = config;
  yield* encoder(config);
  yield* decoder(config);
  if (config.quantConv) yield* conv("quant_conv", 2 * latentChannels, 2 * latentChannels, 1, 1);
  if (config.postQuantConv) yield* conv("post_quant_conv", latentChannels, latentChannels, 1, 1);
}
