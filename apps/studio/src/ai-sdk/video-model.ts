import { setTimeout as wait } from "node:timers/promises";
import {
  APICallError,
  type Experimental_VideoModelV3CallOptions as CallOptions,
  type Experimental_VideoModelV3File as File,
  type Experimental_VideoModelV3 as VideoModel,
  type SharedV3Warning as Warning,
} from "@ai-sdk/provider";
import type { VideoView } from "../videos/view";

/** How a server is called. */
export interface StudioServer {
  baseURL: string;
  headers: Record<string, string>;
  fetch: typeof fetch;
  pollMs: number;
}

/** The provider's name, also of its options: `providerOptions: { vd: { steps: 10 } }`. */
const PROVIDER = "vd";

/** A model of a server, as the AI SDK calls it. */
export class StudioVideoModel implements VideoModel {
  readonly specificationVersion = "v3";
  readonly provider = PROVIDER;
  readonly maxVideosPerCall = 1;

  constructor(
    readonly modelId: string,
    private readonly server: StudioServer,
  ) {}

  async doGenerate(options: CallOptions): Promise<Awaited<ReturnType<VideoModel["doGenerate"]>>> {
    const timestamp = new Date();
    const { fields, warnings } = fieldsOf(options);
    const queued = await this.post("videos", { model: this.modelId, ...fields }, options);
    const video = await this.ended(queued, options).catch(async (error: unknown) => {
      // Nobody waits for it any more.
      if (options.abortSignal?.aborted)
        await this.post(`videos/${queued.id}/cancel`, {}, options.headers ? { headers: options.headers } : {}).catch(
          () => {},
        );
      throw error;
    });
    const { response, bytes } = await this.content(video, options);
    const { width, height, numFrames, fps, seed } = video.settings;
    return {
      videos: [{ type: "binary", data: bytes, mediaType: "video/mp4" }],
      warnings,
      providerMetadata: {
        [PROVIDER]: { id: video.id, width, height, numFrames, fps, seed, timings: { ...video.timings } },
      },
      response: { timestamp, modelId: this.modelId, headers: Object.fromEntries(response.headers) },
    };
  }

  private async ended(queued: VideoView, options: CallOptions): Promise<VideoView> {
    let video = queued;
    while (video.status === "queued" || video.status === "in_progress") {
      await wait(this.server.pollMs, undefined, options.abortSignal ? { signal: options.abortSignal } : {});
      video = (await (await this.call(`videos/${video.id}`, {}, options)).json()) as VideoView;
    }
    if (video.status === "completed") return video;
    const message = video.error?.message ?? "The video failed.";
    throw new APICallError({ message, url: this.url(`videos/${video.id}`), requestBodyValues: {}, isRetryable: false });
  }

  private async content({ id }: VideoView, options: CallOptions): Promise<{ response: Response; bytes: Uint8Array }> {
    const response = await this.call(`videos/${id}/content`, {}, options);
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
  }

  private async post(
    path: string,
    fields: object,
    options: Pick<CallOptions, "abortSignal" | "headers">,
  ): Promise<VideoView> {
    const init = { method: "POST", body: JSON.stringify(fields), headers: { "content-type": "application/json" } };
    return (await (await this.call(path, init, options)).json()) as VideoView;
  }

  private async call(
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> },
    { headers: more = {}, abortSignal }: Pick<CallOptions, "abortSignal" | "headers">,
  ): Promise<Response> {
    const given = Object.entries(more).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const headers = { ...this.server.headers, ...init.headers, ...Object.fromEntries(given) };
    const response = await this.server.fetch(this.url(path), {
      ...init,
      headers,
      ...(abortSignal && { signal: abortSignal }),
    });
    if (response.ok) return response;
    const responseBody = await response.text();
    const { detail = `The server answered ${response.status}.` } = parsed(responseBody);
    const { status: statusCode } = response;
    throw new APICallError({ message: detail, url: this.url(path), requestBodyValues: init, statusCode, responseBody });
  }

  private url(path: string): string {
    return `${this.server.baseURL}/${path}`;
  }
}

function parsed(text: string): { detail?: string } {
  try {
    return JSON.parse(text) as { detail?: string };
  } catch {
    return {};
  }
}

function addressOf(file: File): string {
  if (file.type === "url") return file.url;
  const base64 = typeof file.data === "string" ? file.data : Buffer.from(file.data).toString("base64");
  return `data:${file.mediaType};base64,${base64}`;
}

/** The fields of a request, and what of the options a model of ours has no use for. */
function fieldsOf(options: CallOptions): { fields: Record<string, unknown>; warnings: Warning[] } {
  const { prompt, image, frameImages, inputReferences, resolution, duration, fps, seed, providerOptions } = options;
  const warnings: Warning[] = [];
  const skip = (feature: string, details: string) => warnings.push({ type: "unsupported", feature, details });
  const first =
    image ?? frameImages?.find(({ frameType }) => frameType === "first_frame")?.image ?? inputReferences?.[0];
  if (prompt) skip("prompt", "Stable Video Diffusion is told a picture only.");
  if (frameImages?.some(({ frameType }) => frameType === "last_frame"))
    skip("frameImages", "A last frame cannot be given.");
  if (options.generateAudio) skip("generateAudio", "Videos have no sound.");
  if (options.aspectRatio !== undefined && options.aspectRatio !== "adaptive" && resolution === undefined)
    skip("aspectRatio", "Give a resolution; without one the size is the model's own.");
  const fields = {
    ...(first && { image: addressOf(first) }),
    ...(prompt && { prompt }),
    ...(resolution !== undefined ? { size: resolution } : options.aspectRatio === "adaptive" ? { size: "auto" } : {}),
    ...(duration !== undefined && { seconds: duration }),
    ...(fps !== undefined && { fps }),
    ...(seed !== undefined && { seed }),
    ...providerOptions[PROVIDER],
  };
  return { fields, warnings };
}
