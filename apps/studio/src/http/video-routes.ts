import type { FastifyInstance, FastifyRequest } from "fastify";
import { givenPicture } from "../inputs/picture";
import { requestFields } from "../inputs/request-fields";
import { placementOf } from "../inputs/settings";
import { askedSettings, fingerprintOf, newVideo } from "../inputs/submission";
import { type IdempotentCall, LimitError } from "../queue/video-queue";
import type { VideoRecord, VideoStatus } from "../videos/record";
import { isVideoId } from "../videos/video-id";
import { type VideoView, viewOf } from "../videos/view";
import { askedWebhook } from "../webhooks/asked-webhook";
import { mayAccess, ownerFilter } from "./access";
import { Problem } from "./problem";
import { SCHEMAS } from "./schemas";
import type { Studio } from "./studio";

interface ById {
  Params: { id: string };
}

/** Finds a video of the caller. @throws Problem */
export async function videoOf(request: FastifyRequest<ById>, { queue }: Studio): Promise<VideoRecord> {
  const { id } = request.params;
  const video = isVideoId(id) ? await queue.get(id) : undefined;
  // Somebody else's video is none: its id tells nothing.
  if (!video || !mayAccess(request.caller, video.owner)) throw new Problem(404, "not_found", "There is no such video.");
  return video;
}

/** Returns what the API shows of a video now. */
export async function viewNow(video: VideoRecord, { queue }: Studio): Promise<VideoView> {
  const position = video.status === "queued" ? await queue.positionOf(video) : null;
  return viewOf(video, queue.events.momentOf(video.id), position);
}

const MAX_KEY = 255;

function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY) return key;
  throw new Problem(400, "attr", `Expected an Idempotency-Key of 1 to ${MAX_KEY} characters.`);
}

/** Queues the video that a request asks for. */
async function submit(request: FastifyRequest, studio: Studio): Promise<VideoRecord> {
  const { queue, files } = studio;
  if (!(await queue.isReady()))
    throw new Problem(503, "draining", "The server is stopping. Try again soon.", undefined, { "retry-after": "10" });
  const { caller } = request;
  const key = idempotencyKey(request);
  const asked = await requestFields(request, studio.maxBodyBytes);
  const call: IdempotentCall | undefined = key === undefined ? undefined : { key, fingerprint: fingerprintOf(asked) };
  const earlier = call && (await queue.earlier(caller.id, call));
  if (earlier) return earlier;
  // Before the picture is looked at and kept; what counts is the same question within `add`.
  if ((await queue.numActive(caller.id)) >= caller.videos) throw new LimitError(caller.videos);
  const webhook = await askedWebhook(asked.fields, studio.fetchRules);
  const picture = await givenPicture(asked, studio, caller);
  const video = newVideo(asked.fields, picture, studio, caller, webhook);
  try {
    await files.putPicture(video.id, picture!.bytes, picture!.info.mediaType);
    const added = await queue.add(video, caller.videos, call);
    if (added.id !== video.id) await files.remove(video.id);
    return added;
  } catch (error) {
    // What was begun of it is nobody's.
    await files.remove(video.id).catch(() => {});
    throw error;
  }
}

/** What is taken as a body is checked by the option contract, whose sentences say more than a schema's. */
const OWN_CHECKS = { validatorCompiler: () => () => true };

/** Adds the calls about videos, but for their files and events. */
export function addVideoRoutes(app: FastifyInstance, studio: Studio): void {
  const { queue } = studio;

  app.post("/v1/videos", { schema: SCHEMAS.create, ...OWN_CHECKS }, async (request) =>
    viewNow(await submit(request, studio), studio),
  );

  app.get<{ Querystring: { limit: number; after?: string; order: "asc" | "desc"; status?: VideoStatus } }>(
    "/v1/videos",
    { schema: SCHEMAS.list },
    async ({ query, caller }) => {
      const { limit } = query;
      const found = await queue.list({ ...query, owner: ownerFilter(caller), limit: limit + 1 });
      const data = await Promise.all(found.slice(0, limit).map((video) => viewNow(video, studio)));
      const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
      return { object: "list", data, ...ends, has_more: found.length > limit };
    },
  );

  app.get<ById>("/v1/videos/:id", { schema: SCHEMAS.read }, async (request) =>
    viewNow(await videoOf(request, studio), studio),
  );

  app.delete<ById>("/v1/videos/:id", { schema: SCHEMAS.remove }, async (request) => {
    const { id } = await videoOf(request, studio);
    await queue.remove(id);
    return { id, object: "video.deleted", deleted: true };
  });

  app.post<ById>("/v1/videos/:id/cancel", { schema: SCHEMAS.cancel, ...OWN_CHECKS }, async (request) => {
    const { id } = await videoOf(request, studio);
    const video = await queue.cancel(id);
    if (!video) throw new Problem(404, "not_found", "There is no such video.");
    return viewNow(video, studio);
  });

  app.post("/v1/videos/estimate", { schema: SCHEMAS.estimate, ...OWN_CHECKS }, async (request) =>
    estimate(request, studio),
  );
}

function statedSize({ picture }: { picture?: unknown }): { width: number; height: number } | undefined {
  if (picture === undefined || picture === null) return undefined;
  const { width, height } = Object(picture) as Record<string, number>;
  const isSide = (side: unknown): side is number =>
    Number.isInteger(side) && (side as number) > 0 && (side as number) < 2 ** 20;
  if (isSide(width) && isSide(height)) return { width, height };
  throw new Problem(400, "attr", 'Expected the picture\'s size as { "width": 640, "height": 480 }.', "picture");
}

async function estimate(request: FastifyRequest, studio: Studio) {
  const asked = await requestFields(request, studio.maxBodyBytes);
  const given = statedSize(asked.fields);
  const picture = given ?? (await givenPicture(asked, studio, request.caller))?.info;
  const { model, settings } = askedSettings(asked.fields, studio, picture, ["picture"]);
  const { seed: _, ...shown } = settings;
  return {
    ...{
      object: "video.estimate",
      model: model.place.id,
      settings: asked.fields.seed === undefined ? shown : settings,
    },
    seconds: settings.numFrames / settings.fps,
    picture: picture ? { width: picture.width, height: picture.height } : null,
    ...(picture ? placementOf(picture, settings) : { crop: null, placed: null }),
    ...(await studio.estimator.estimate(model.place, settings)),
    queue: await studio.queue.counts(),
  };
}
