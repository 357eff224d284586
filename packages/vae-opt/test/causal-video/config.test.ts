import { readFileSync } from "node:fs";
import { isVdError } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { frameFactor, parseCausalVaeConfig, pictureFactor, SEEDVR2_VAE_CONFIG } from "../../src/index";

const fixture = new URL("../../../../fixtures/seedvr_vae/seedvr_a.json", import.meta.url);
const published = JSON.parse(readFileSync(fixture, "utf8")).published_config;

describe("parseCausalVaeConfig", () => {
  it("reads the published configuration as the one that is built in", () => {
    expect(parseCausalVaeConfig(published)).toEqual(SEEDVR2_VAE_CONFIG);
    expect([pictureFactor(SEEDVR2_VAE_CONFIG), frameFactor(SEEDVR2_VAE_CONFIG)]).toEqual([8, 4]);
  });

  it("takes the reference's defaults for keys that are missing", () => {
    expect(parseCausalVaeConfig({ temporal_scale_num: 0 })).toMatchObject({
      ...{ blockOutChannels: [64], layersPerBlock: 1, latentChannels: 4, normGroups: 32 },
      ...{ quantConv: true, postQuantConv: true },
    });
  });

  it("refuses what cannot be or is not supported, naming the key", () => {
    for (const [key, value] of Object.entries({
      block_out_channels: [64, 65],
      act_fn: "relu",
      down_block_types: ["DownEncoderBlock3D", "AttnDownEncoderBlock3D"],
      up_block_types: "UpDecoderBlock2D",
      temporal_scale_num: 4,
      norm_num_groups: 0,
      latent_channels: 1.5,
      layers_per_block: 10_000,
      use_quant_conv: "yes",
      scaling_factor: -1,
      spatial_downsample_factor: 16,
      temporal_downsample_factor: 8,
      time_receptive_field: "half",
      attention: false,
    })) {
      let message = "";
      try {
        parseCausalVaeConfig({ ...published, [key]: value }, "some/config.json");
      } catch (error) {
        if (isVdError(error) && error.code === "weights") message = error.message;
      }
      expect(message).toContain(`[some/config.json] [${key}] expected `);
    }
  });
});
