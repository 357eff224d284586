import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const SECRET = "test-secret";
/** Keys that the stand-in knows. */
export const S3_ACCESS = { accessKeyId: "test-id", secretAccessKey: SECRET, region: "us-east-1" };

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signature version 4, computed from the documentation alone, for a request with its signature in the header or the query. */
function signatureOf(
  request: IncomingMessage,
  url: URL,
  signedHeaders: string,
  date: string,
  scope: string,
  payload: string,
): string {
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([a, b]) => `${escaped(a)}=${escaped(b)}`);
  const headers = signedHeaders.split(";").map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [
    request.method,
    url.pathname,
    query.sort().join("&"),
    headers.join(""),
    signedHeaders,
    payload,
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", date, scope, createHash("sha256").update(canonical).digest("hex")].join("\n");
  const key = scope.split("/").reduce((previous: string | Buffer, part) => hmac(previous, part), `AWS4${SECRET}`);
  return hmac(key, text).toString("hex");
}

/** When a link ends, in ms since 1970. */
function endOf(date: string, seconds: number): number {
  const [, y, mo, d, h, mi, s] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(date)!;
  return Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s)) + 1000 * seconds;
}

function isSigned(request: IncomingMessage, url: URL, nowMs: number): boolean {
  const query = url.searchParams;
  const given = query.get("X-Amz-Signature");
  if (given !== null) {
    const scope = query.get("X-Amz-Credential")!.split("/").slice(1).join("/");
    const date = query.get("X-Amz-Date")!;
    if (nowMs > endOf(date, Number(query.get("X-Amz-Expires")))) return false;
    return given === signatureOf(request, url, query.get("X-Amz-SignedHeaders")!, date, scope, "UNSIGNED-PAYLOAD");
  }
  const header = /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(
    request.headers.authorization ?? "",
  );
  if (!header) return false;
  const payload = String(request.headers["x-amz-content-sha256"]);
  return (
    header[3] === signatureOf(request, url, header[2]!, String(request.headers["x-amz-date"]), header[1]!, payload)
  );
}

/** Starts a small S3: objects in memory, and no answer to a request that is not signed. */
export async function startS3(): Promise<{
  url: string;
  objects: Map<string, Buffer>;
  /** Has it another time, for links that end. */
  setClock(clock: () => number): void;
  stop(): void;
}> {
  let now = Date.now;
  const objects = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, "http://localhost");
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (!isSigned(request, url, now()))
      return void response.writeHead(403).end("<Error><Code>SignatureDoesNotMatch</Code></Error>");
    const name = url.pathname;
    if (request.method === "PUT") objects.set(name, Buffer.concat(parts));
    if (request.method === "DELETE") objects.delete(name);
    if (request.method !== "GET") return void response.writeHead(request.method === "DELETE" ? 204 : 200).end();
    const found = objects.get(name);
    if (!found) return void response.writeHead(404).end("<Error><Code>NoSuchKey</Code></Error>");
    const type = url.searchParams.get("response-content-type") ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type }).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const setClock = (clock: () => number) => {
    now = clock;
  };
  return { url: `http://127.0.0.1:${port}/bucket`, objects, setClock, stop: () => void server.close() };
}
