import { plainSentence } from "../ui/words";
import type { Estimate, Model, OptionRow, OptionValue, Size, Variant, Video } from "./types";

/** What the server, or the way to it, has against a request: one sentence for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    sentence: string,
    readonly status: number,
    /** What is wrong with which field. */
    readonly fields: readonly { field: string; detail: string }[] = [],
  ) {
    super(sentence);
  }
}

const UNAUTHORIZED = 401;
/** True if an error says that a key is missing or wrong. */
export const wantsKey = (error: unknown): boolean => error instanceof ApiError && error.status === UNAUTHORIZED;

/** The address of a path of the server; the page may lie below another path. */
const urlOf = (path: string): string => new URL(path, document.baseURI).href;

async function errorOf(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => ({}))) as {
    detail?: string;
    title?: string;
    errors?: { field: string; detail: string }[];
  };
  const sentence = problem.detail ?? problem.title ?? `The server answered ${response.status} and said no reason.`;
  const fields = problem.errors?.map(({ field, detail }) => ({ field, detail: plainSentence(detail) }));
  return new ApiError(plainSentence(sentence), response.status, fields);
}

async function ask(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(urlOf(path), init).catch((cause: unknown) => {
    if (init?.signal?.aborted) throw cause;
    throw new ApiError("The studio does not answer. It may have been stopped; start it again and reload this page.", 0);
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

const json = async <T>(path: string, init?: RequestInit): Promise<T> => (await ask(path, init)).json() as Promise<T>;

/** Gives the server an API key, which it leaves in a cookie: pictures and links cannot send a header. */
export const signIn = async (key: string): Promise<void> => {
  const headers = { "content-type": "application/json" };
  await ask("session", { method: "POST", headers, body: JSON.stringify({ key }) });
};

const post = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  json<T>(path, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    ...(signal && { signal }),
  });

/** Where the picture of a new video comes from: a file, an address, or the last frame of another video. */
export type ImageInput = Blob | string | { video: string };

/** A video to be made: its picture, its model and whatever options were set. */
export interface NewVideo {
  image: ImageInput;
  model?: string;
  profile?: boolean;
  options: Readonly<Record<string, OptionValue>>;
}

const formText = (value: OptionValue | object): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** Queues a video. @throws ApiError with the reason for which it was refused */
export function createVideo({ image, options, ...rest }: NewVideo, idempotencyKey: string): Promise<Video> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...options, ...rest }))
    if (value !== undefined && value !== null) form.set(name, formText(value));
  form.set("image", image instanceof Blob ? image : formText(image));
  const headers = { "idempotency-key": idempotencyKey };
  return json<Video>("v1/videos", { method: "POST", body: form, headers });
}

/** What a video would take; picture: its size, if one is chosen. */
export function estimateVideo(
  { model, options }: Omit<NewVideo, "image">,
  picture: Size | undefined,
  signal?: AbortSignal,
): Promise<Estimate> {
  return post("v1/videos/estimate", { ...options, ...(model && { model }), ...(picture && { picture }) }, signal);
}

/** A page of videos, the newest first. after: the id of the last video of the page before. */
export const listVideos = (after?: string): Promise<{ data: Video[]; has_more?: boolean }> =>
  json(`v1/videos?limit=50${after === undefined ? "" : `&after=${encodeURIComponent(after)}`}`);

/** One video. */
export const getVideo = (id: string): Promise<Video> => json(`v1/videos/${encodeURIComponent(id)}`);

/** Stops a video that is queued or running; it stays in the list. */
export const cancelVideo = (id: string): Promise<Video> => post(`v1/videos/${encodeURIComponent(id)}/cancel`, {});

/** Deletes a video and its files. */
export const deleteVideo = async (id: string): Promise<void> => {
  await ask(`v1/videos/${encodeURIComponent(id)}`, { method: "DELETE" });
};

/** A file of a video. */
export const getContent = async (id: string, variant: Variant, signal?: AbortSignal): Promise<Blob> =>
  (await ask(contentUrl(id, variant), signal && { signal })).blob();

/**
 * A picture as a browser can show it: of an address, which the server fetches, since the page reaches nothing but the studio; or of
 * a file of a format that browsers do not know.
 */
export async function shownPicture(source: Blob | string): Promise<Blob> {
  const body = new FormData();
  body.set("image", source);
  return (await ask("v1/pictures", { method: "POST", body })).blob();
}

/** The address of a file of a video. isDownload: for a link that saves it. */
export const contentUrl = (id: string, variant: Variant, isDownload = false): string =>
  urlOf(`v1/videos/${encodeURIComponent(id)}/content?variant=${variant}${isDownload ? "&download=true" : ""}`);

/** The address of a video's profile, a page of its own. */
export const profileUrl = (id: string): string => urlOf(`v1/videos/${encodeURIComponent(id)}/profile`);

/** All models of the server. */
export const listModels = async (): Promise<Model[]> => (await json<{ data: Model[] }>("v1/models")).data;

/** All rows of the option contract. */
export const listOptions = async (): Promise<OptionRow[]> => (await json<{ data: OptionRow[] }>("v1/options")).data;

/** Opens the stream of all events. */
export const openEvents = (): EventSource => new EventSource(urlOf("v1/events"));
