import { PATH, requireFields } from "@vd/kernels-native";
import type { VaeConfig } from "@vd/vae-opt";
import type { ExportSource } from "../export/export-model";
import { type ExportPrecision, exportPart, openSource, partPath, shapeOf } from "../export/export-model";
import { PARTS, type Part } from "../export/parts";
import { type Numbers, OnnxSession, type SessionOptions } from "../ort/session";

/** Which model to run whole in ONNX Runtime, and where to keep its exports. */
export interface OnnxModelsOptions extends SessionOptions {
  readonly modelDir: string;
  /** Folder for exported models; existing ones are written anew. */
  readonly workDir: string;
  readonly precision?: ExportPrecision | undefined;
  /** Parts to open; default: all. */
  readonly parts?: readonly Part[] | undefined;
  readonly batch?: number | undefined;
  readonly frames?: number | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** Every part of a model as a session of ONNX Runtime, for comparisons with our kernels on the same numbers. */
export class OnnxModels {
  private constructor(
    readonly source: ExportSource,
    private readonly sessions: ReadonlyMap<Part, OnnxSession>,
    /** Sizes of the exports. */
    readonly sizes: {
      readonly batch: number;
      readonly frames: number;
      readonly width: number;
      readonly height: number;
    },
  ) {}

  /**
   * Exports and opens the parts.
   *
   * @throws VdError as the export and {@link OnnxSession.open} do
   */
  static async open(options: OnnxModelsOptions): Promise<OnnxModels> {
    requireFields("OnnxModels.open", options, { modelDir: PATH, workDir: PATH });
    const { modelDir, workDir, precision = "fp32", parts = PARTS } = options;
    const source = await openSource(modelDir, precision);
    const sessions = new Map<Part, OnnxSession>();
    try {
      for (const part of parts) {
        await exportPart(part, source, workDir, { ...options, parts: undefined });
        sessions.set(part, await OnnxSession.open(partPath(workDir, part), options));
      }
      return new OnnxModels(source, sessions, shapeOf(source, { ...options, parts: undefined }));
    } catch (error) {
      for (const session of sessions.values()) await session.close();
      throw error;
    }
  }

  get vaeConfig(): VaeConfig {
    return this.source.models.vae.config;
  }

  /** One denoiser call. `sample` [B,F,C,h,w], `timestep` [1], `encoder_hidden_states` [B,1,D], `added_time_ids` [B,3] →
   *  [B,F,K,h,w]. */
  async unet(inputs: Readonly<Record<string, Numbers>>): Promise<Float32Array> {
    return (await this.run("unet", inputs)).out_sample!.data;
  }

  /** Latents, divided by the scaling factor, [1,F,C,h,w] → frames in about [-1,1], [1,F,3,H,W]. */
  async decode(latents: Numbers): Promise<Float32Array> {
    return (await this.run("vae-decoder", { latents })).frames!.data;
  }

  /** A picture in [-1,1], [1,3,H,W] → means, then log-variances, [1,2C,h,w]. */
  async encode(image: Numbers): Promise<Float32Array> {
    return (await this.run("vae-encoder", { image })).moments!.data;
  }

  /** Normalised pixels, [1,3,S,S] → embedding, [D]. */
  async embed(pixels: Numbers): Promise<Float32Array> {
    return (await this.run("clip", { pixel_values: pixels })).image_embeds!.data;
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    for (const session of this.sessions.values()) await session.close();
  }

  private run(part: Part, inputs: Readonly<Record<string, Numbers>>): Promise<Record<string, Numbers>> {
    const session = this.sessions.get(part);
    if (!session) throw new Error(`${part} is not open`);
    return session.run(inputs);
  }
}
