import type { FastifyInstance, FastifyReply } from "fastify";
import { dispositionOf } from "../files/video-files";
import type { VideoRecord } from "../videos/record";
import { PROFILE_FILES, type Variant, type VariantFile, variantFile } from "../videos/variants";
import { Problem } from "./problem";
import { SCHEMAS } from "./schemas";
import type { Studio } from "./studio";
import { videoOf } from "./video-routes";

interface ById {
  Params: { id: string };
}

/** Adds the files of videos and the reports of where their time went. */
export function addContentRoutes(app: FastifyInstance, studio: Studio): void {
  app.get<ById & { Querystring: { variant: Variant; download: boolean } }>(
    "/v1/videos/:id/content",
    { schema: SCHEMAS.content },
    async (request, reply) => {
      const video = await videoOf(request, studio);
      const { variant, download } = request.query;
      const file = variantFile(video, variant);
      if (!file) throw missing(video, `its ${variant}`);
      return send(reply, video, file, studio, download);
    },
  );

  app.get<ById & { Querystring: { format: keyof typeof PROFILE_FILES } }>(
    "/v1/videos/:id/profile",
    { schema: SCHEMAS.profile },
    async (request, reply) => {
      const video = await videoOf(request, studio);
      const file = PROFILE_FILES[request.query.format];
      if (!video.profile) throw new Problem(404, "no_profile", "This video was made without profile: true.");
      if (!video.result?.files.includes(file.name)) throw missing(video, "its profile");
      // The report is a page with its own scripts and styles in it, and reaches nothing else.
      reply.header(
        "content-security-policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; sandbox allow-scripts",
      );
      return send(reply, video, file, studio);
    },
  );
}

const fileNameOf = ({ id }: VideoRecord, { name }: VariantFile): string => `${id}-${name}`;

function missing({ status, error }: VideoRecord, what: string): Problem {
  if (status === "completed")
    return new Problem(404, "no_such_file", `The video does not have ${what}: its encoder is not installed here.`);
  if (status === "failed")
    return new Problem(409, "failed", `The video failed, so ${what} was not made: ${error?.message ?? ""}`);
  return new Problem(
    409,
    "not_completed",
    `The video is ${status === "queued" ? "queued" : "being made"}; ${what} comes at its end.`,
  );
}

async function send(reply: FastifyReply, video: VideoRecord, file: VariantFile, { files }: Studio, isSaved = false) {
  const headers = { fileName: fileNameOf(video, file), mediaType: file.mediaType, isSaved };
  const found = await files.find(video.id, file.name, headers);
  if (!found) throw new Problem(404, "no_such_file", "This file is not in the storage any more.");
  // A link ends after a while; who asks again gets a new one.
  if (found.kind === "link") return reply.header("cache-control", "no-store").redirect(found.url, 302);
  if (isSaved) reply.header("content-disposition", dispositionOf(headers));
  // A finished file never changes; a picture of a client is shown as a picture and never run as a page.
  reply.headers({
    "content-type": file.mediaType,
    "cache-control": "private, max-age=31536000, immutable",
  });
  if (!reply.hasHeader("content-security-policy"))
    reply.header("content-security-policy", "default-src 'none'; sandbox");
  // Players of some browsers ask for ranges, and play nothing without.
  return reply.sendFile(found.name, found.folder, { contentType: false, cacheControl: false });
}
