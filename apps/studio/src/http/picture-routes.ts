import { loadImage, loadSharp } from "@vd/media";
import type { FastifyInstance } from "fastify";
import { givenPicture } from "../inputs/picture";
import { requestFields } from "../inputs/request-fields";
import { Problem } from "./problem";
import type { Studio } from "./studio";

/** Pictures that every browser shows as they are. */
const SHOWN_TYPES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif"]);

/** A picture of another type as PNG. */
async function asPng(bytes: Uint8Array): Promise<Uint8Array> {
  const { width, height, data } = await loadImage(bytes);
  const sharp = await loadSharp();
  return sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/**
 * Adds the picture that a request means, as a browser can show it: a page fetches nothing from elsewhere itself, and knows fewer
 * formats. Nothing is kept.
 */
export function addPictureRoutes(app: FastifyInstance, studio: Studio): void {
  app.post("/v1/pictures", { schema: { hide: true } }, async (request, reply) => {
    const picture = await givenPicture(await requestFields(request, studio.maxBodyBytes), studio, request.caller);
    if (!picture) throw new Problem(400, "attr", "Expected a picture.", "image");
    const { mediaType } = picture.info;
    const isShown = SHOWN_TYPES.has(mediaType);
    reply.header("content-security-policy", "default-src 'none'; sandbox").header("cache-control", "no-store");
    return reply.type(isShown ? mediaType : "image/png").send(isShown ? picture.bytes : await asPng(picture.bytes));
  });
}
