import type { FastifyInstance, FastifyRequest } from "fastify";
import { hashOf, type KeyRecord, type KeyStore, localKey } from "../keys/key-store";
import { LOCAL_OWNER } from "../videos/record";
import { Problem } from "./problem";

declare module "fastify" {
  interface FastifyRequest {
    /** Whose request it is; on routes that need a key where keys are needed. */
    caller: KeyRecord;
  }
}

/** Who is let in. */
export interface AccessRules {
  /** True on a server that others can reach. */
  requireKey: boolean;
  /** Names that a `Host` header may have on a server that asks for no key. */
  hosts: readonly string[];
}

/** Routes that need no key: whether the server is well, what it can do, and the page (`/*`), which asks for the key. */
const OPEN_ROUTES: ReadonlySet<string | undefined> = new Set([
  ...["/healthz", "/readyz", "/openapi.json", "/session", "/", "/*"],
]);

/**
 * True for a call that needs a key where keys are needed. What counts is the route that answers, not the address as it is written, which
 * has many forms (`/%761/videos`, `http://host/v1/videos`) of one meaning.
 */
export const isGuarded = ({ routeOptions }: FastifyRequest): boolean => !OPEN_ROUTES.has(routeOptions.url);

/** What the page keeps a key in: links to pictures and videos carry no header. */
export const KEY_COOKIE = "vd_key";

const cookieOf = ({ headers }: FastifyRequest): string | undefined =>
  headers.cookie
    ?.split(/;\s*/)
    .find((pair) => pair.startsWith(`${KEY_COOKIE}=`))
    ?.slice(KEY_COOKIE.length + 1);

const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer (\S+)$/i.exec(headers.authorization ?? "")?.[1];

/**
 * Lets in who may come in, before anything is read. Without keys only names of this machine are taken as `Host`: a name that somebody
 * else's name server points here (DNS rebinding) is none. A page of another site gives itself away by its `Origin`.
 */
export function guardAccess(app: FastifyInstance, rules: AccessRules, keys: KeyStore): void {
  app.addHook("onRequest", async (request) => {
    requireOwnHost(request, rules);
    // Said at once, so that no body is read for it.
    if (request.is404) throw nothingHere();
    // Whether the server is well is told also while keys cannot be read.
    if (isGuarded(request)) request.caller = await callerOf(request, rules, keys);
  });
}

/** Returns the refusal of an address where nothing is. */
export const nothingHere = (): Problem =>
  new Problem(404, "not_found", "There is nothing at this address. GET /openapi.json tells what there is.");

function requireOwnHost({ headers, host, hostname, raw }: FastifyRequest, { requireKey, hosts }: AccessRules): void {
  if (headers.host === undefined && raw.httpVersion === "1.1")
    throw new Problem(400, "bad_request", "A call of HTTP/1.1 says which host it means.");
  if (!requireKey && !hosts.includes((hostname ?? "").toLowerCase()))
    throw new Problem(403, "foreign_host", `This server answers as ${hosts[0]} only.`);
  const { origin } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    throw new Problem(403, "foreign_origin", "This server answers its own page only; other pages are not let in.");
}

async function callerOf(request: FastifyRequest, { requireKey }: AccessRules, keys: KeyStore): Promise<KeyRecord> {
  const given = bearerOf(request) ?? cookieOf(request);
  const known = given === undefined ? undefined : await keys.byHash(hashOf(given));
  if (known && known.id !== LOCAL_OWNER) return known;
  // Clients of OpenAI always send something; on this machine nothing is needed. What looks like a key of ours is meant to be one.
  if (given?.startsWith("sk-vd-") || requireKey)
    throw new Problem(401, "invalid_key", "Expected a key of this server: Authorization: Bearer sk-vd-…", undefined, {
      "www-authenticate": "Bearer",
    });
  return localKey(keys);
}

/** True if a video is one of the caller's; who needs no key sees all. */
export const mayAccess = ({ id }: KeyRecord, owner: string): boolean => id === LOCAL_OWNER || id === owner;

/** Whose videos a caller sees; undefined for all. */
export const ownerFilter = ({ id }: KeyRecord): string | undefined => (id === LOCAL_OWNER ? undefined : id);
