import { oneOrList, type Shapes, sizeOf } from "@vd/hub";
import { FINITE, having, optional, requireArgument, requireFields } from "@vd/kernels-native";
import { vaeLayoutOfDiffusers } from "./vae-names";

/** Size of the published models' training pictures. */
const SAMPLE_SIZE = 768;

/** What an autoencoder's weights do not tell; the default is that of the published models. */
export interface VaeInference {
  /** Scale between the autoencoder's latents and the denoiser's. Default: what a `config.json` says, else 0.18215. */
  scalingFactor?: number | undefined;
}

const SHAPES = having("a Map of shapes by their names", ["get", "keys"]);
const INFERENCE = { scalingFactor: optional(FINITE) };

/**
 * `vae/config.json` from shapes.
 *
 * @throws VdError `weights` where a tensor is missing, `attr` for what are no shapes or options
 */
export function inferVaeConfig(shapes: Shapes, options: VaeInference = {}): Record<string, unknown> {
  requireArgument("inferVaeConfig shapes", shapes, SHAPES);
  requireFields("inferVaeConfig", options, INFERENCE);
  const { scalingFactor = 0.18215 } = options;
  const { encoderLayers } = vaeLayoutOfDiffusers(new Set(shapes.keys()));
  return {
    _class_name: "AutoencoderKLTemporalDecoder",
    block_out_channels: encoderLayers.map((_, i) =>
      sizeOf(shapes, `encoder.down_blocks.${i}.resnets.0.conv1.weight`, 0),
    ),
    down_block_types: encoderLayers.map(() => "DownEncoderBlock2D"),
    force_upcast: true,
    in_channels: sizeOf(shapes, "encoder.conv_in.weight", 1),
    latent_channels: sizeOf(shapes, "decoder.conv_in.weight", 1),
    layers_per_block: oneOrList(encoderLayers),
    out_channels: sizeOf(shapes, "decoder.conv_out.weight", 0),
    sample_size: SAMPLE_SIZE,
    scaling_factor: scalingFactor,
  };
}
