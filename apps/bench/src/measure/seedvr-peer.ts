import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import type { GraphLayout } from "@vd/tensor";
import { type CausalVaeConfig, frameFactor, pictureFactor } from "@vd/vae-opt";
import { type Contender, peerContender, readOutput } from "./contenders";
import { PeerProcess } from "./peer-process";
import type { BenchFile } from "./report";
import type { Comparison, VaeVariant } from "./vae-variants";

/** How rows call SeedVR's own code. */
export const SEEDVR = "seedvr";

/** The module of the autoencoder, and what says how it is built and run. */
const MODULE = "models/video_vae_v3/modules/attn_video_vae.py";
const NEEDED = [MODULE, "models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml", "configs_3b/main.yaml"];

/**
 * Refuses a folder that is no checkout of SeedVR.
 *
 * @throws VdError `io` naming the first file that is not there
 */
export function checkCheckout(folder: string): string {
  const missing = NEEDED.find((name) => !existsSync(join(folder, name)));
  if (missing === undefined) return folder;
  const expected = `a checkout of SeedVR's code, with ${missing}`;
  const got = existsSync(folder) ? `${folder}, which has no such file` : `${folder}, which is not there`;
  const hint = "git clone https://github.com/ByteDance-Seed/SeedVR, and name that folder.";
  throw new VdError({ code: "io", where: "--seedvr", expected, got, hint });
}

/** The arguments of the reference's class that a configuration stands for: what {@link parseCausalVaeConfig} reads. */
const classArguments = (config: CausalVaeConfig): Record<string, unknown> => ({
  block_out_channels: config.blockOutChannels,
  down_block_types: config.blockOutChannels.map(() => "DownEncoderBlock3D"),
  up_block_types: config.blockOutChannels.map(() => "UpDecoderBlock3D"),
  layers_per_block: config.layersPerBlock,
  in_channels: config.inChannels,
  out_channels: config.outChannels,
  latent_channels: config.latentChannels,
  norm_num_groups: config.normGroups,
  temporal_scale_num: config.temporalLevels,
  use_quant_conv: config.quantConv,
  use_post_quant_conv: config.postQuantConv,
  spatial_downsample_factor: pictureFactor(config),
  temporal_downsample_factor: frameFactor(config),
});

/** What SeedVR's code is run with. */
export interface SeedvrOptions {
  python: string;
  script: string;
  /** The checkout. */
  folder: string;
  /** A file, or a folder of files, of the weights that ours has too. */
  weights: string;
  config: CausalVaeConfig;
  device: "cpu" | "cuda";
  dtype: string;
  threads?: number | undefined;
  /** Seconds after which the reference is given up. */
  limitSeconds?: number | undefined;
}

/** A direction at the measured size. */
export interface SeedvrCase {
  part: "encode" | "decode";
  /** The file of the input `x`, [1,C,F,H,W]. */
  inputs: string;
  /** Where results go. */
  output: string;
  /** Our plan of the same layers, op by op: it says how much work they are. */
  layout: GraphLayout;
}

/** SeedVR's own autoencoder in a Python program, which is started when it is needed. */
export class SeedvrPeer {
  private running: Promise<PeerProcess> | undefined;
  private process: PeerProcess | undefined;

  constructor(
    private readonly options: SeedvrOptions,
    private readonly file: Pick<BenchFile, "versions">,
  ) {}

  /** Ends the program; the next use starts it anew. */
  stop(): void {
    this.process?.stop();
    this.process = this.running = undefined;
  }

  /**
   * What the code computes in float32, without TF32: [C,F,H,W].
   *
   * @throws VdError with the program's reason
   */
  async reference({ part, inputs, output }: SeedvrCase): Promise<Float32Array> {
    const { limitSeconds } = this.options;
    let isLate = false;
    const giveUp = () => {
      isLate = true;
      this.stop();
    };
    const timer = limitSeconds === undefined ? undefined : setTimeout(giveUp, 1000 * limitSeconds);
    try {
      const peer = await this.peer();
      await peer.request("reference", { part, inputs, path: output });
      return readOutput(output);
    } catch (error) {
      if (!isLate) throw error;
      const got = `more than ${limitSeconds} s, loading included`;
      throw new VdError({ code: "unsupported", where: SEEDVR, expected: "a result within the limit", got });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The code as a contender. comparison: what its result is held against. */
  variant(run: SeedvrCase, comparison: Comparison): VaeVariant {
    return { name: SEEDVR, load: () => this.load(run, comparison), stop: () => this.stop() };
  }

  private async load({ part, inputs, output, layout }: SeedvrCase, comparison: Comparison): Promise<Contender> {
    const peer = await this.peer();
    const made = await peerContender(peer, part, "eager", { inputs, output }, undefined);
    const { flops, bytes } = layout.cost;
    Object.assign(made.facts, { flops, bytes, ...comparison.of(readOutput(output)) });
    // The program may have been stopped, or have failed, meanwhile.
    const close = async () => void (await peer.request("release", { part }).catch(() => undefined));
    return { ...made, name: SEEDVR, close };
  }

  private peer(): Promise<PeerProcess> {
    this.running ??= this.start();
    return this.running;
  }

  private async start(): Promise<PeerProcess> {
    const { python, script, folder, weights, config, device, dtype, threads } = this.options;
    const peer = new PeerProcess(SEEDVR, python, [script]);
    this.process = peer;
    const { versions, device: peerDevice } = await peer.request("hello");
    const type = device === "cpu" ? "float32" : dtype;
    const model = { model: weights, config: classArguments(config), seedvr: folder };
    await peer.request("open", { ...model, device, dtype: type, threads });
    const hash = createHash("sha256").update(await readFile(join(folder, MODULE)));
    const seedvr = `attn_video_vae.py with SHA-256 ${hash.digest("hex")}`;
    this.file.versions = { ...(versions as Record<string, unknown>), peerDevice, ...this.file.versions, seedvr };
    return peer;
  }
}
