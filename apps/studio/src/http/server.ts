import multipart from "@fastify/multipart";
import rateLimit from "@fastify/rate-limit";
import fixedFiles from "@fastify/static";
import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { mountLive } from "../live-mount";
import { LOCAL_OWNER } from "../videos/record";
import { logWebhooks } from "../webhooks/log";
import { guardAccess, isGuarded, KEY_COOKIE, nothingHere } from "./access";
import { answerBrokenCall } from "./broken-call";
import { addContentRoutes } from "./content-routes";
import { addEventRoutes } from "./event-routes";
import { addInfoRoutes } from "./info-routes";
import { KeyWatch } from "./key-watch";
import { addMetrics } from "./metrics";
import { addPictureRoutes } from "./picture-routes";
import { Problem, problemOf } from "./problem";
import { COMPONENTS } from "./schemas";
import type { Studio } from "./studio";
import { traceRequests, traceVideos } from "./tracing";
import { addVideoRoutes } from "./video-routes";

/** What every answer says of itself. */
const HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** What keys of Redis that count calls begin with. */
const RATE_PREFIX = "vd:calls:";

/** The page runs its own scripts and styles, and talks to this server alone; pictures and videos may come from the storage. */
export function pagePolicy(storage: string | undefined): string {
  const from = storage === undefined ? "" : ` ${storage}`;
  return [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'", `connect-src 'self'${from}`],
    ...[`img-src 'self' blob: data:${from}`, `media-src 'self' blob:${from}`, "frame-src 'self'", "worker-src 'self'"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join("; ");
}

/** A running API. */
export interface ApiServer {
  app: FastifyInstance;
  /** Ends the connections that listen to events, which would else keep the server. */
  endEvents(): Promise<void>;
}

/** How long a client may take, in ms: whoever sends or reads slower than this only holds a connection. */
export interface Patience {
  /** For the headers of a call. */
  headersMs: number;
  /** For a whole call, its body included. */
  callMs: number;
  /** Without a byte in either direction; connections that listen to events have one every 15 s. */
  silenceMs: number;
  /** How often {@link headersMs} and {@link callMs} are looked at. */
  lookMs: number;
}

const PATIENCE: Patience = { headersMs: 20_000, callMs: 300_000, silenceMs: 60_000, lookMs: 5000 };

/** A key for the page is the only body that is read without one. */
const MAX_SESSION_BYTES = 1024;

function sendProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const problem = problemOf(error);
  reply.code(problem.status).headers({ ...HEADERS, ...problem.headers });
  return reply.type("application/problem+json").send(JSON.stringify(problem.body()));
}

/** Makes the API; it listens when `app.listen` is called. log: told of mistakes of our own. */
export async function makeServer(
  studio: Studio,
  log: (text: string) => void = () => {},
  patience = PATIENCE,
): Promise<ApiServer> {
  const app = Fastify({
    bodyLimit: studio.maxBodyBytes,
    forceCloseConnections: "idle",
    requestTimeout: patience.callMs,
    connectionTimeout: patience.silenceMs,
    // A call without a host is refused as others are, by a problem.
    http: {
      requireHostHeader: false,
      headersTimeout: patience.headersMs,
      connectionsCheckingInterval: patience.lookMs,
    },
    // Addresses that cannot be read, and what is no HTTP, come before any route.
    frameworkErrors: (error, _, reply) => void sendProblem(reply, error),
    clientErrorHandler: answerBrokenCall,
    // Queries are texts, which are turned into what the schema says; bodies are checked by the option contract.
    ajv: { customOptions: { strict: false } },
  });
  // Bodies are JSON or forms; a text is neither.
  app.removeContentTypeParser("text/plain");
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => {
    if (problemOf(error).status >= 500) log(`${request.method} ${request.url}: ${(error as Error).stack ?? error}\n`);
    return sendProblem(reply, error);
  });
  app.setNotFoundHandler(() => {
    throw nothingHere();
  });
  app.addHook("onSend", async (_, reply, payload) => {
    reply.headers(HEADERS);
    return payload;
  });
  traceRequests(app);
  app.addHook("onRequest", async (request) => {
    if (!isGuarded(request) || request.is404 || studio.queue.isReachable()) return;
    const wait = { "retry-after": "5" };
    throw new Problem(503, "unreachable", "The queue cannot be reached. Try again soon.", undefined, wait);
  });
  guardAccess(app, studio.access, studio.keys);
  await addPlugins(app, studio);
  const watch = new KeyWatch(studio.keys);
  const events = addRoutes(app, studio, watch);
  traceVideos(studio.queue.events);
  logWebhooks(studio.queue.events, log);
  if (studio.page !== undefined) {
    await mountLive(app, watch, studio.openLive);
    await addPage(app, studio.page, pagePolicy(studio.files.origin));
  }
  return { app, endEvents: () => events.endAll() };
}

async function addPlugins(app: FastifyInstance, { maxBodyBytes, version, rateStore }: Studio): Promise<void> {
  for (const [$id, schema] of Object.entries(COMPONENTS)) app.addSchema({ $id, ...schema });
  await app.register(multipart, { limits: { fileSize: maxBodyBytes, files: 1, fields: 100, fieldSize: 2 ** 20 } });
  // Files of videos are sent by it, with ranges; the page has its own.
  await app.register(fixedFiles, { serve: false });
  await app.register(rateLimit, {
    max: ({ caller }) => caller.perMinute,
    timeWindow: 60_000,
    // Asked for also where nothing is counted.
    keyGenerator: (request) => (isGuarded(request) ? request.caller.id : ""),
    allowList: (request) => !isGuarded(request) || request.caller.id === LOCAL_OWNER,
    // In memory, and begun anew with the process, unless servers share a Redis: then they count together.
    ...(rateStore && { redis: rateStore, nameSpace: RATE_PREFIX }),
    errorResponseBuilder: (_, { after }) =>
      new Problem(429, "too_many_requests", `Too many requests of this key. Try again in ${after}.`),
  });
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "vd-studio", version, description: "Videos from pictures. Docs: docs/api.md." },
      components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
      security: [{ key: [] }, {}],
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
  });
}

function addRoutes(app: FastifyInstance, studio: Studio, watch: KeyWatch) {
  const events = addEventRoutes(app, studio, watch);
  addVideoRoutes(app, studio);
  addContentRoutes(app, studio);
  addPictureRoutes(app, studio);
  addInfoRoutes(app, studio);
  addMetrics(app, studio, () => events.count());
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  const session = { schema: { hide: true }, bodyLimit: MAX_SESSION_BYTES };
  app.post<{ Body: { key?: unknown } }>("/session", session, async ({ body, headers }, reply) => {
    const key = String(body?.key ?? "");
    if (!/^[\w-]{1,200}$/.test(key)) throw new Problem(400, "attr", "Expected a key.", "key");
    // A page that came by HTTPS, through a proxy, gives its key to nothing less.
    const secure = headers.origin?.startsWith("https:") ? "; Secure" : "";
    const cookie = `${KEY_COOKIE}=${key}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000${secure}`;
    return reply.header("set-cookie", cookie).code(204).send();
  });
  return events;
}

async function addPage(app: FastifyInstance, folder: string, policy: string): Promise<void> {
  await app.register(fixedFiles, {
    root: folder,
    decorateReply: false,
    setHeaders: (response, path) => {
      // Names of built files change with what is in them.
      const isNamedByHash = /[/\\]assets[/\\]/.test(path);
      response.header("cache-control", isNamedByHash ? "public, max-age=31536000, immutable" : "no-cache");
      if (path.endsWith(".html")) response.header("content-security-policy", policy);
    },
  });
}
