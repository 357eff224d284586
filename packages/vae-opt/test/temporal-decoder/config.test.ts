import { isVdError } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { parseVaeConfig, spatialFactor } from "../../src/index";

const PUBLISHED = {
  _class_name: "AutoencoderKLTemporalDecoder",
  block_out_channels: [128, 256, 512, 512],
  down_block_types: ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
  force_upcast: true,
  in_channels: 3,
  latent_channels: 4,
  layers_per_block: 2,
  out_channels: 3,
  sample_size: 768,
  scaling_factor: 0.18215,
};

function messageOf(json: Record<string, unknown>): string {
  try {
    parseVaeConfig(json, "vae/config.json");
  } catch (error) {
    if (isVdError(error) && error.code === "weights") return error.message;
    throw error;
  }
  throw new Error("expected a VdError");
}

describe("parseVaeConfig", () => {
  it("reads the published configuration", () => {
    const config = parseVaeConfig(PUBLISHED);
    expect(config).toMatchObject({
      blockOutChannels: [128, 256, 512, 512],
      layersPerBlock: 2,
      inChannels: 3,
      outChannels: 3,
      latentChannels: 4,
      scalingFactor: 0.18215,
      forceUpcast: true,
    });
    expect(spatialFactor(config)).toBe(8);
  });

  it("takes the reference's defaults for keys that are missing or null", () => {
    for (const json of [{}, { layers_per_block: null, in_channels: null, scaling_factor: null, force_upcast: null }]) {
      const config = parseVaeConfig(json);
      expect(config).toMatchObject({ blockOutChannels: [64], layersPerBlock: 1, latentChannels: 4, forceUpcast: true });
      expect(config.scalingFactor).toBe(0.18215);
      expect(spatialFactor(config)).toBe(1);
    }
    expect(parseVaeConfig({ force_upcast: false }).forceUpcast).toBe(false);
  });

  it("refuses what cannot be, naming file and key, with what was expected and what came", () => {
    const wrong: Record<string, unknown>[] = [
      { block_out_channels: [] },
      { block_out_channels: 64 },
      { block_out_channels: [64, 65] },
      { block_out_channels: [0] },
      { block_out_channels: [-32] },
      { block_out_channels: ["64"] },
      { block_out_channels: [64, 64], down_block_types: ["DownEncoderBlock2D"] },
      { down_block_types: ["DownBlock2D"] },
      { down_block_types: ["constructor"] },
      { down_block_types: "DownEncoderBlock2D" },
      { layers_per_block: 0 },
      { layers_per_block: 1.5 },
      { in_channels: 3.5 },
      { out_channels: -3 },
      { latent_channels: "4" },
      { scaling_factor: 0 },
      { scaling_factor: "0.18215" },
      { scaling_factor: [0.18215] },
    ];
    expect(wrong.map(messageOf).join("\n")).toMatchInlineSnapshot(`
      "[vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got []
      [vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got 64
      [vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got [64,65]
      [vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got [0]
      [vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got [-32]
      [vae/config.json] [block_out_channels] expected a list of at most 16 positive multiples of 32, got ["64"]
      [vae/config.json] [down_block_types] expected 2 of DownEncoderBlock2D, AttnDownEncoderBlock2D, got ["DownEncoderBlock2D"]
      [vae/config.json] [down_block_types] expected 1 of DownEncoderBlock2D, AttnDownEncoderBlock2D, got ["DownBlock2D"]
      [vae/config.json] [down_block_types] expected 1 of DownEncoderBlock2D, AttnDownEncoderBlock2D, got ["constructor"]
      [vae/config.json] [down_block_types] expected 1 of DownEncoderBlock2D, AttnDownEncoderBlock2D, got "DownEncoderBlock2D"
      [vae/config.json] [layers_per_block] expected a positive whole number of at most 1024, got 0
      [vae/config.json] [layers_per_block] expected a positive whole number of at most 1024, got 1.5
      [vae/config.json] [in_channels] expected a positive whole number of at most 1048576, got 3.5
      [vae/config.json] [out_channels] expected a positive whole number of at most 1048576, got -3
      [vae/config.json] [latent_channels] expected a positive whole number of at most 1048576, got "4"
      [vae/config.json] [scaling_factor] expected a positive number, got 0
      [vae/config.json] [scaling_factor] expected a positive number, got "0.18215"
      [vae/config.json] [scaling_factor] expected a positive number, got [0.18215]"
    `);
  });
});
