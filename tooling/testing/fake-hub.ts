import { createHash } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A file as the fake Hub serves it; `lfs` files are described by SHA-256 and served by the other origin. */
export interface FakeFile {
  content: Buffer;
  lfs?: boolean;
}

export interface SeenRequest {
  method: string;
  url: string;
  origin: "hub" | "cdn";
  authorization: string | undefined;
  range: string | undefined;
  ifRange: string | undefined;
}

/** Answers a request instead of the fake Hub: true if it did. */
export type Interceptor = (request: SeenRequest, response: ServerResponse) => boolean | Promise<boolean>;

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";
export const NEXT_COMMIT = "89abcdef0123456789abcdef0123456789abcdef";

export const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");
export const gitSha1 = (content: Buffer) =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
export const digestOf = ({ content, lfs }: FakeFile) => (lfs ? sha256(content) : gitSha1(content));

/** Plays the Hub and its CDN on two ports of 127.0.0.1. */
export class FakeHub {
  readonly requests: SeenRequest[] = [];
  readonly files = new Map<string, FakeFile>();
  readonly refs = new Map([["main", COMMIT]]);
  repo = "some-org/tiny-svd";
  /** What the model's card says. */
  card: Record<string, unknown> | undefined;
  intercept: Interceptor = () => false;
  /** Entries per page of the file list. */
  pageSize = 1000;
  /** Changes entries of the file list before they are sent. */
  describe: (entry: Record<string, unknown>) => Record<string, unknown> = (entry) => entry;
  readonly #hub: Server;
  readonly #cdn: Server;

  private constructor() {
    this.#hub = createServer((request, response) => this.#handle("hub", request, response));
    this.#cdn = createServer((request, response) => this.#handle("cdn", request, response));
  }

  static async start(files: Record<string, FakeFile> = svdFiles()): Promise<FakeHub> {
    const hub = new FakeHub();
    for (const [name, file] of Object.entries(files)) hub.files.set(name, file);
    for (const server of [hub.#hub, hub.#cdn]) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    return hub;
  }

  async stop(): Promise<void> {
    for (const server of [this.#hub, this.#cdn]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#hub.address() as AddressInfo).port}`;
  }

  get cdnOrigin(): string {
    return `http://127.0.0.1:${(this.#cdn.address() as AddressInfo).port}`;
  }

  /** Requests for contents: what the CDN sent and small files from the Hub. */
  contentRequests(name: string): SeenRequest[] {
    return this.requests.filter(
      ({ url, method, origin }) =>
        method === "GET" && url.endsWith(`/${name}`) && (origin === "cdn") === (this.files.get(name)?.lfs ?? false),
    );
  }

  async #handle(origin: "hub" | "cdn", request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization, range, "if-range": ifRange } = request.headers;
    const url = decodeURIComponent(request.url ?? "");
    const seen = { method: request.method ?? "", url, origin, authorization, range, ifRange: ifRange as string };
    this.requests.push(seen);
    if (await this.intercept(seen, response)) return;
    const [path = "", query] = url.split("?");
    const api = `/api/models/${this.repo}`;
    if (origin === "cdn") return this.#serveContent(path.replace(/^\/bucket\//, ""), seen, response);
    if (path.startsWith(`${api}/revision/`)) return this.#sendInfo(path.slice(`${api}/revision/`.length), response);
    if (path.startsWith(`${api}/tree/`)) return this.#sendTree(new URLSearchParams(query), response);
    if (path.startsWith(`/${this.repo}/resolve/`)) {
      return this.#serveResolve(path.split("/").slice(5).join("/"), seen, response);
    }
    response.writeHead(404, { "X-Error-Code": "RepoNotFound" }).end();
  }

  #sendInfo(revision: string, response: ServerResponse): void {
    const sha = [...this.refs.values()].includes(revision) ? revision : this.refs.get(revision);
    if (sha === undefined) {
      response.writeHead(404, { "X-Error-Code": "RevisionNotFound" }).end();
      return;
    }
    sendJson(response, {
      _id: "1",
      id: this.repo,
      private: false,
      lastModified: "2026-01-01T00:00:00Z",
      sha,
      cardData: this.card,
    });
  }

  #sendTree(query: URLSearchParams, response: ServerResponse): void {
    const entries = [...this.files].map(([path, file]) => {
      const { length } = file.content;
      const lfs = file.lfs ? { lfs: { oid: sha256(file.content), size: length, pointerSize: 134 } } : {};
      return this.describe({ type: "file", path, size: length, oid: gitSha1(file.content), ...lfs });
    });
    const folders = [
      ...new Set([...this.files.keys()].filter((name) => name.includes("/")).map((n) => n.split("/")[0])),
    ];
    const all = [...folders.map((path) => ({ type: "directory", path, size: 0, oid: "" })), ...entries];
    const start = Number(query.get("cursor") ?? 0);
    const end = start + this.pageSize;
    const next = `${this.endpoint}/api/models/${this.repo}/tree/${COMMIT}?recursive=true&expand=false&cursor=${end}`;
    if (end < all.length) response.setHeader("Link", `<${next}>; rel="next"`);
    sendJson(response, all.slice(start, end));
  }

  #serveResolve(name: string, seen: SeenRequest, response: ServerResponse): void {
    const file = this.files.get(name);
    if (file === undefined) {
      response.writeHead(404, { "X-Error-Code": "EntryNotFound" }).end();
      return;
    }
    response.setHeader("X-Repo-Commit", COMMIT);
    if (!file.lfs) {
      this.#serveContent(name, seen, response);
      return;
    }
    const linked = { "X-Linked-Etag": `"${sha256(file.content)}"`, "X-Linked-Size": file.content.length };
    response.writeHead(302, { Location: `${this.cdnOrigin}/bucket/${name}`, ...linked }).end();
  }

  #serveContent(name: string, seen: SeenRequest, response: ServerResponse): void {
    const file = this.files.get(name);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    // A CDN's tag is not the checksum.
    const tag = file.lfs ? `"cdn-${file.content.length}"` : `"${gitSha1(file.content)}"`;
    response.setHeader("ETag", tag);
    const from = Number(/^bytes=(\d+)-$/.exec(seen.range ?? "")?.[1] ?? Number.NaN);
    if (Number.isNaN(from) || (seen.ifRange !== undefined && seen.ifRange !== tag)) {
      response.writeHead(200, { "Content-Length": file.content.length });
      response.end(seen.method === "HEAD" ? undefined : file.content);
    } else if (from >= file.content.length) {
      response.writeHead(416, { "Content-Range": `bytes */${file.content.length}` }).end();
    } else {
      sendRange(response, file.content, from);
    }
  }
}

/** Sends a rest as status 206. */
export function sendRange(response: ServerResponse, content: Buffer, from: number): void {
  const range = `bytes ${from}-${content.length - 1}/${content.length}`;
  response.writeHead(206, { "Content-Range": range, "Content-Length": content.length - from });
  response.end(content.subarray(from));
}

/** Sends a part of a content, whose header promised more, and breaks the connection. arrived: settles once the client has kept the part: what it
 *  has not taken by then is lost with the connection; default: soon. */
export function breakBehind(
  response: ServerResponse,
  part: Buffer,
  arrived: () => Promise<unknown> = () => sleep(20),
): void {
  response.write(part, () => {
    const destroy = () => response.destroy();
    arrived().then(destroy, destroy);
  });
}

/** Sends the start of a content with the length of the whole, then breaks the connection, as {@link breakBehind}. */
export function breakAfter(
  response: ServerResponse,
  content: Buffer,
  bytes: number,
  { headers = {}, arrived }: { headers?: OutgoingHttpHeaders; arrived?: () => Promise<unknown> } = {},
): void {
  response.writeHead(200, { "Content-Length": content.length, ...headers });
  breakBehind(response, content.subarray(0, bytes), arrived);
}

export function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

const madeBytes = new Map<string, Buffer>();

/** Bytes that differ from place to place. */
export function bytes(length: number, seed = 1): Buffer {
  const made = madeBytes.get(`${length} ${seed}`);
  if (made !== undefined) return made;
  const content = Buffer.alloc(length);
  madeBytes.set(`${length} ${seed}`, content);
  for (let i = 0, state = seed; i < length; i++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    content[i] = state >> 16;
  }
  return content;
}

/** The layout of a published SVD repository, with small contents. */
export function svdFiles(): Record<string, FakeFile> {
  const text = (name: string) => ({ content: Buffer.from(`{"file": "${name}"}\n`) });
  const weights = (seed: number, length = 200_000) => ({ content: bytes(length, seed), lfs: true });
  return {
    ".gitattributes": text("attributes"),
    "README.md": text("readme"),
    "model_index.json": text("index"),
    "feature_extractor/preprocessor_config.json": text("feature"),
    "scheduler/scheduler_config.json": text("scheduler"),
    "image_encoder/config.json": text("clip"),
    "image_encoder/model.safetensors": weights(1),
    "image_encoder/model.fp16.safetensors": weights(2, 100_000),
    "image_encoder/pytorch_model.bin": weights(3),
    "unet/config.json": text("unet"),
    "unet/diffusion_pytorch_model.safetensors": weights(4),
    "unet/diffusion_pytorch_model.fp16.safetensors": weights(5, 100_000),
    "unet/diffusion_pytorch_model.bin": weights(6),
    "unet/model.onnx": weights(7),
    "vae/config.json": text("vae"),
    "vae/diffusion_pytorch_model.safetensors": weights(8),
    "vae/diffusion_pytorch_model.fp16.safetensors": weights(9, 100_000),
    "svd_xt.safetensors": weights(10),
  };
}
