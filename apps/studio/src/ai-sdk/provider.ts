import type { Experimental_VideoModelV3 as VideoModel } from "@ai-sdk/provider";
import { StudioVideoModel } from "./video-model";

/** Where the server is. */
export interface StudioProviderOptions {
  /** Address of the API; default `http://localhost:8585/v1`. */
  baseURL?: string | undefined;
  /** A key of the server; a server on this machine needs none. */
  apiKey?: string | undefined;
  /** What calls the server; default the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Time between two looks at a video that is being made, in ms; default 500. */
  pollMs?: number | undefined;
}

/** Models of one server. */
export interface StudioProvider {
  /** Returns a model by its id in `GET /v1/models`. */
  video(modelId: string): VideoModel;
  /** The name by which registries of the AI SDK ask for a model. */
  videoModel(modelId: string): VideoModel;
}

const BASE_URL = "http://localhost:8585/v1";
const POLL_MS = 500;

/**
 * Makes a provider for the AI SDK.
 *
 * @example
 * ```ts
 * import { createStudioProvider } from "@vd/studio/ai-sdk";
 * import { experimental_generateVideo as generateVideo } from "ai";
 *
 * const studio = createStudioProvider({ baseURL: "http://localhost:8585/v1" });
 * const { video } = await generateVideo({
 *   model: studio.video("tiny-svd"),
 *   prompt: { image: await readFile("start.png") },
 *   duration: 2,
 *   providerOptions: { vd: { steps: 10, motionBucketId: 127 } },
 * });
 * await writeFile("clip.mp4", video.uint8Array);
 * ```
 */
export function createStudioProvider(options: StudioProviderOptions = {}): StudioProvider {
  const { baseURL = BASE_URL, apiKey, fetch: call = globalThis.fetch, pollMs = POLL_MS } = options;
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const server = { baseURL: baseURL.replace(/\/+$/, ""), headers, fetch: call, pollMs };
  const video = (modelId: string) => new StudioVideoModel(modelId, server);
  return { video, videoModel: video };
}
