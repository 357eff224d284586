import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { LOCAL_NAMES } from "@vd/app-parts";

/** Whom a server answers. */
export interface GuardOptions {
  port: number;
  /** What a request must bring along as `?token=`; undefined on a server that only this machine can reach. */
  token: string | undefined;
}

/** The address of a request, whatever stands there; the host in it is none that anything is decided by. */
export function urlOf({ url = "/" }: Pick<IncomingMessage, "url">): URL {
  // Behind the host, so that neither `//` nor `http://` begins another one's name, which might be none at all.
  return new URL(`http://localhost${url.startsWith("/") ? "" : "/"}${url}`);
}

function isToken(given: string | null, token: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Says why a request gets no answer; undefined for one that does. Without a token only names of this machine are taken as `Host`: a
 * name that somebody else's DNS server points here (DNS rebinding) is none. A page of another site gives itself away by its `Origin`.
 */
export function refusalOf(request: IncomingMessage, { port, token }: GuardOptions): string | undefined {
  const { host = "", origin } = request.headers;
  if (token === undefined) {
    // A browser leaves out port 80.
    if (!LOCAL_NAMES.some((name) => host === `${name}:${port}` || (port === 80 && host === name)))
      return `This server answers as localhost:${port} only.`;
  } else if (!isToken(urlOf(request).searchParams.get("token"), token)) {
    return "The address needs the token that vd-live printed: ?token=…";
  }
  if (origin !== undefined && origin !== `http://${host}`) return "This server answers its own page only.";
  return undefined;
}
