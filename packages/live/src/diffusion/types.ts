import type { SchedulerConfig } from "@vd/sampling";
import type { Graph, Pausable, Tensor } from "@vd/tensor";
import type { LiveModelInfo } from "../model/types";
import type { ClipText, ClipTokenizer } from "../models/clip-text/index";
import type { Unet2dCondition } from "../models/unet-2d-condition/index";

/** An autoencoder as a stream of pictures needs it; latents are scaled as the denoiser has them. */
export interface PictureCodec {
  /** Pixels of a picture's side by one of its latents. */
  readonly factor: number;
  readonly latentChannels: number;
  /** [1,1,H,W,3] in [-1, 1] → [1,1,h,w,C]: the most likely latents. */
  encode(g: Graph, x: Tensor): Pausable<Tensor>;
  /** [1,1,h,w,C] → [1,1,H,W,3] in about [-1, 1]. */
  decode(g: Graph, z: Tensor): Pausable<Tensor>;
}

/** A model of the Stable Diffusion class whose weights are mapped or made. */
export interface DiffusionModel {
  readonly info: LiveModelInfo;
  readonly unet: Unet2dCondition;
  readonly codec: PictureCodec;
  readonly text: ClipText;
  /** Undefined for random models, which have no words. */
  readonly tokenizer: ClipTokenizer | undefined;
  readonly scheduler: SchedulerConfig;
}

/** Every kind of guidance, the default first. */
export const GUIDANCE_KINDS = ["none", "self", "initialize", "full"] as const;

/**
 * What the prediction with the prompt is led away from. `none`: nothing, one call a step. `self` and `initialize`: residual noise that
 * the stream keeps, which takes no further calls, begun with its own noise or with one call for the negative prompt at the first
 * step. `full`: the negative prompt at every step, which takes twice the calls. Source: https://arxiv.org/abs/2312.12491, section 3.2.
 */
export type GuidanceKind = (typeof GUIDANCE_KINDS)[number];

/** Draws each frame's latents towards those of the frame before, where both agree: what stands still flickers less. */
export interface TemporalBlend {
  /** The part of the frame before, 0 to 1: 0 for none of it. */
  weight: number;
  /** The largest difference of any channel of the latents, in units of their deviation, up to which a latent pixel is blended. */
  threshold: number;
}

/** What a stream of pictures is made with; changes count from the next frame on. */
export interface StreamConditions {
  prompt: string;
  negativePrompt: string;
  /** How far frames may leave their pictures, above 0 to 1. */
  strength: number;
  guidanceScale: number;
  /** Part of the residual noise in guidance. */
  delta: number;
}
