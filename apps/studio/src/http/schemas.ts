import { type JsonSchema, valueSchema } from "@vd/svd-pipeline/options";
import { SETTING_ROWS } from "../inputs/settings";
import { PRIORITIES } from "../videos/record";
import { PROFILE_FILES, VARIANT_FILES, VARIANTS } from "../videos/variants";

const TEXT = { type: "string" } as const;
const NUMBER = { type: "number" } as const;
const WHOLE = { type: "integer" } as const;
const FLAG = { type: "boolean", default: false } as const;
const object = (properties: Record<string, unknown>, required?: readonly string[]) => ({
  ...{ type: "object", properties },
  ...(required && { required }),
});
const orNull = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
const listOf = (items: object) => ({ type: "array", items });
const RECTANGLE = object({ left: WHOLE, top: WHOLE, width: WHOLE, height: WHOLE });
const SIZE = object({ width: WHOLE, height: WHOLE });

/** The settings, as the option contract has them. */
const SETTINGS: Record<string, JsonSchema> = Object.fromEntries(
  SETTING_ROWS.map(({ name, kind, row }) => {
    const fallback = row.default?.kind === "always" ? { default: row.default.value } : {};
    return [name, { ...valueSchema(kind), description: row.doc, ...fallback }];
  }),
);

const PICTURE = {
  description: "The picture: an https: or data: address, or the last frame of a video; in a form a file.",
  anyOf: [TEXT, object({ image_url: TEXT }, ["image_url"]), object({ video: TEXT }, ["video"])],
};

const SUBMISSION = {
  image: PICTURE,
  input_reference: { ...PICTURE, description: "OpenAI's name of image." },
  model: { ...TEXT, description: "An id of GET /v1/models; default the first." },
  size: { ...TEXT, description: "1024x576, or auto for the shape of the picture." },
  seconds: { anyOf: [NUMBER, TEXT], description: "Length: seconds × fps frames." },
  prompt: { ...TEXT, description: "Kept, and changes nothing." },
  priority: { enum: PRIORITIES, default: "normal" },
  previewEvery: { type: "integer", minimum: 0, default: 1, description: "Steps between two previews; 0 for none." },
  profile: { ...FLAG, description: "Measures where the time goes." },
  webhook: object({ url: { ...TEXT, format: "uri" } }, ["url"]),
  metadata: { type: "object", additionalProperties: TEXT, maxProperties: 16 },
  ...SETTINGS,
};

const PROGRESS = object({ phase: TEXT, step: WHOLE, steps: WHOLE, fraction: NUMBER, etaSeconds: orNull(NUMBER) });

/** Schemas that others refer to. */
export const COMPONENTS = {
  Problem: object(
    {
      ...{ type: TEXT, title: TEXT, status: WHOLE, detail: TEXT, code: TEXT },
      errors: listOf(object({ field: TEXT, detail: TEXT })),
      error: object({ message: TEXT, type: TEXT, param: orNull(TEXT), code: TEXT }),
    },
    ["title", "status", "detail", "code"],
  ),
  Video: object(
    {
      ...{ id: TEXT, object: { const: "video" }, status: { enum: ["queued", "in_progress", "completed", "failed"] } },
      progress: { type: "integer", minimum: 0, maximum: 100 },
      ...{ created_at: WHOLE, started_at: orNull(WHOLE), completed_at: orNull(WHOLE), expires_at: orNull(WHOLE) },
      ...{ model: TEXT, prompt: orNull(TEXT), seconds: TEXT, size: TEXT, remixed_from_video_id: orNull(TEXT) },
      error: orNull(object({ code: TEXT, message: TEXT }, ["code", "message"])),
      settings: object(SETTINGS),
      phase: orNull(PROGRESS),
      ...{ queue_position: orNull(WHOLE), priority: { enum: PRIORITIES }, attempts: WHOLE },
      picture: object({ width: WHOLE, height: WHOLE, crop: RECTANGLE }),
      timings: orNull({ type: "object", additionalProperties: NUMBER }),
      ...{ peak_bytes: orNull(WHOLE), variants: listOf({ enum: VARIANTS }), profile: { type: "boolean" } },
      spritesheet: orNull(object({ columns: WHOLE, rows: WHOLE, width: WHOLE, height: WHOLE })),
      metadata: { type: "object", additionalProperties: TEXT },
      webhook: orNull(
        object({
          ...{ url: TEXT, status: { enum: ["pending", "retrying", "delivered", "failed"] } },
          ...{ attempts: WHOLE, lastError: orNull(TEXT) },
        }),
      ),
    },
    ["id", "object", "status", "progress", "created_at", "model", "seconds", "size", "settings"],
  ),
} as const;

const ref = (name: keyof typeof COMPONENTS) => ({ $ref: `${name}#` });
const answer = (description: string, schema?: object) => ({ description, ...(schema ?? { type: "null" }) });
const PROBLEM = { description: "What is wrong.", content: { "application/problem+json": { schema: ref("Problem") } } };
const answers = (description: string, schema?: object) => ({
  200: answer(description, schema),
  "4xx": PROBLEM,
  "5xx": PROBLEM,
});

/** Answers that are no JSON. */
const files = (description: string, ...mediaTypes: string[]) => {
  const schema = { type: "string", format: "binary" };
  const content = Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
  return { 200: { description, content }, "4xx": PROBLEM, "5xx": PROBLEM };
};

const ID = object({ id: TEXT }, ["id"]);
const of = (tag: string, summary: string, more: object) => ({ tags: [tag], summary, ...more });

const FILE_TYPES = [...new Set(Object.values(VARIANT_FILES).map(({ mediaType }) => mediaType))];

/** Of every call, what it takes and answers: checks of queries follow from them, and the description as OpenAPI. */
export const SCHEMAS = {
  create: of("videos", "Queues a video", {
    consumes: ["application/json", "multipart/form-data"],
    headers: object({
      "idempotency-key": { ...TEXT, description: "The same key and body again answer with the first video." },
    }),
    body: object(SUBMISSION),
    response: answers("The video.", ref("Video")),
  }),
  list: of("videos", "Lists videos", {
    querystring: object({
      limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
      after: TEXT,
      order: { enum: ["desc", "asc"], default: "desc" },
      status: { enum: ["queued", "in_progress", "completed", "failed"] },
    }),
    response: answers(
      "Videos.",
      object({ object: { const: "list" }, data: listOf(ref("Video")), has_more: { type: "boolean" } }),
    ),
  }),
  read: of("videos", "Tells of a video", { params: ID, response: answers("The video.", ref("Video")) }),
  remove: of("videos", "Deletes a video with its files", {
    params: ID,
    response: answers("It is deleted.", object({ id: TEXT, object: TEXT, deleted: { type: "boolean" } })),
  }),
  cancel: of("videos", "Cancels a video", { params: ID, response: answers("The video.", ref("Video")) }),
  estimate: of("videos", "Says what a video would take", {
    consumes: ["application/json", "multipart/form-data"],
    body: object({ ...SUBMISSION, picture: { ...SIZE, description: "The picture's size, in its place." } }),
    response: answers(
      "Time, memory and crop.",
      object({
        ...{ object: TEXT, model: TEXT, settings: object(SETTINGS), seconds: NUMBER, picture: orNull(SIZE) },
        ...{ crop: orNull(RECTANGLE), placed: orNull(RECTANGLE), estimatedSeconds: NUMBER },
        ...{ memoryBytes: NUMBER, weightBytes: NUMBER },
        stages: listOf(object({ name: TEXT, seconds: NUMBER, memoryBytes: NUMBER })),
        queue: object({ waiting: WHOLE, running: WHOLE }),
      }),
    ),
  }),
  content: of("files", "Returns a file of a video", {
    params: ID,
    querystring: object({ variant: { enum: VARIANTS, default: "video" }, download: FLAG }),
    response: files("The file, or a redirect to it.", ...FILE_TYPES),
  }),
  profile: of("files", "Returns where the time of a video went", {
    params: ID,
    querystring: object({ format: { enum: Object.keys(PROFILE_FILES), default: "html" } }),
    response: files("The report.", ...Object.values(PROFILE_FILES).map(({ mediaType }) => mediaType)),
  }),
  events: of("events", "Server-sent events of a video until it has ended", {
    params: ID,
    response: files("Events.", "text/event-stream"),
  }),
  allEvents: of("events", "Server-sent events of all videos", { response: files("Events.", "text/event-stream") }),
  models: of("models", "Lists models", {
    response: answers("Models.", object({ object: TEXT, data: listOf(object({})) })),
  }),
  model: of("models", "Tells of a model", { params: ID, response: answers("The model.", object({})) }),
  options: of("models", "Lists the rows of the option contract", {
    response: answers("Rows.", object({ object: TEXT, data: listOf(object({})) })),
  }),
} as const;
