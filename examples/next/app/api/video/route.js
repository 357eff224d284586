import { devices, isVdError } from "@vd/kernels-native";
import { encodeBuiltin } from "@vd/media";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

export const dynamic = "force-dynamic";

/** A folder or "org/name" of the Hub. Models are no part of the app: `standalone` does not copy them. */
const model = process.env.MODEL ?? "stabilityai/stable-video-diffusion-img2vid-xt";
/** Opened by the first request, for all of them; generations run one after the other. */
let opening;
let queue = Promise.resolve();

/** The devices that this server can use. */
export const GET = () => Response.json(devices());

/** A picture in the field `picture` becomes an MP4. */
export async function POST(request) {
  try {
    const picture = (await request.formData()).get("picture");
    const image = new Uint8Array(await picture.arrayBuffer());
    opening ??= StableVideoDiffusionPipeline.fromPretrained(model);
    const pipeline = await opening;
    const generated = queue.then(() => pipeline.generate({ image, numFrames: 4, steps: 2, signal: request.signal }));
    queue = generated.catch(() => {});
    const file = await encodeBuiltin("mp4", await generated);
    return new Response(file, { headers: { "content-type": "video/mp4" } });
  } catch (error) {
    if (!isVdError(error)) throw error;
    return Response.json({ code: error.code, message: error.message }, { status: 400 });
  }
}
