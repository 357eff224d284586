import type { VaeConfig } from "@vd/vae-opt";
import { GAIN, resTensors, type SyntheticTensor, spatioTemporalResTensors, TensorList } from "./tensors";

function attention(list: TensorList, name: string, width: number): void {
  list.norm(`${name}.group_norm`, width);
  list.linear(`${name}.to_q`, width, width, { gain: GAIN.score });
  list.linear(`${name}.to_k`, width, width, { gain: GAIN.score });
  list.linear(`${name}.to_v`, width, width);
  list.linear(`${name}.to_out.0`, width, width, { gain: GAIN.branch });
}

function encoderTensors(list: TensorList, config: VaeConfig): void {
  const channels = config.blockOutChannels;
  const last = channels.at(-1)!;
  list.conv("encoder.conv_in", config.inChannels, channels[0]!, [3, 3]);
  let cin = channels[0]!;
  channels.forEach((cout, level) => {
    const name = `encoder.down_blocks.${level}`;
    for (let i = 0; i < config.layersPerBlock; i++) {
      resTensors(list, `${name}.resnets.${i}`, { cin, cout, kernel: [3, 3] });
      if (config.encoderAttention[level]) attention(list, `${name}.attentions.${i}`, cout);
      cin = cout;
    }
    if (level < channels.length - 1) list.conv(`${name}.downsamplers.0.conv`, cout, cout, [3, 3]);
  });
  for (const i of [0, 1]) resTensors(list, `encoder.mid_block.resnets.${i}`, { cin: last, cout: last, kernel: [3, 3] });
  attention(list, "encoder.mid_block.attentions.0", last);
  list.norm("encoder.conv_norm_out", last);
  list.conv("encoder.conv_out", last, 2 * config.latentChannels, [3, 3]);
  list.conv("quant_conv", 2 * config.latentChannels, 2 * config.latentChannels, [1, 1]);
}

function decoderTensors(list: TensorList, config: VaeConfig): void {
  const channels = [...config.blockOutChannels].reverse();
  const last = channels[0]!;
  list.conv("decoder.conv_in", config.latentChannels, last, [3, 3]);
  for (let i = 0; i < config.layersPerBlock; i++)
    spatioTemporalResTensors(list, `decoder.mid_block.resnets.${i}`, { cin: last, cout: last });
  attention(list, "decoder.mid_block.attentions.0", last);
  let cin = last;
  channels.forEach((cout, position) => {
    const name = `decoder.up_blocks.${position}`;
    for (let i = 0; i <= config.layersPerBlock; i++) {
      spatioTemporalResTensors(list, `${name}.resnets.${i}`, { cin, cout });
      cin = cout;
    }
    if (position < channels.length - 1) list.conv(`${name}.upsamplers.0.conv`, cout, cout, [3, 3]);
  });
  list.norm("decoder.conv_norm_out", cin);
  list.conv("decoder.conv_out", cin, config.outChannels, [3, 3]);
  list.conv("decoder.time_conv_out", config.outChannels, config.outChannels, [3, 1, 1]);
}

/** Every weight of an AutoencoderKLTemporalDecoder.
 *  Source: huggingface/diffusers@58eb52c autoencoders/autoencoder_kl_temporal_decoder.py. */
export function vaeTensors(config: VaeConfig): SyntheticTensor[] {
  const list = new TensorList();
  encoderTensors(list, config);
  decoderTensors(list, config);
  return list.tensors;
}
