import { lookup as systemLookup } from "node:dns";
import { get as getHttp, type IncomingMessage, request as requestHttp } from "node:http";
import { get as getHttps, type RequestOptions, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { useAgent as filteringAgent } from "request-filtering-agent";

/** How a foreign address is called. */
export interface FetchRules {
  /** Also private addresses and this machine, for tests and closed networks. */
  allowPrivate: boolean;
  maxBytes: number;
  timeoutMs: number;
  /** Finds the addresses of a name; default the system's. */
  lookup?: LookupFunction | undefined;
}

/** An answer of a foreign server. */
export interface FetchedFile {
  bytes: Uint8Array;
  mediaType: string;
}

/** Why an address gave nothing; a sentence for people that tells nothing of the network behind this server. */
export class FetchError extends Error {}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new FetchError("Expected an http: or https: address.");
  if (url.username || url.password)
    throw new FetchError("An address with a user name or a password in it is not called.");
  return url;
}

/**
 * The agent that calls an address: one that refuses private, loopback and otherwise reserved addresses. It looks at the address that the
 * socket connects to, so that no notation (decimal, hexadecimal, IPv6-mapped) and no name server that changes its mind gets past it.
 */
const agentFor = (url: URL, { allowPrivate }: FetchRules) =>
  filteringAgent(url.href, { allowPrivateIPAddress: allowPrivate, allowMetaIPAddress: allowPrivate });

const NOT_PUBLIC = "This address is not a public one, and is not called.";

/** The rule of the agent. */
const isPublic = (address: string): boolean => ipaddr.isValid(address) && ipaddr.parse(address).range() === "unicast";

/** How long a name server may take before a name counts as one that leads somewhere. */
const LOOK_UP_MS = 2000;

/** Finds the addresses that a host has now; none where nobody knows it, or not soon enough. */
function addressesOf(host: string, { lookup = systemLookup as LookupFunction }: FetchRules): Promise<string[]> {
  if (isIP(host) !== 0) return Promise.resolve([host]);
  const found = new Promise<string[]>((resolve) => {
    lookup(host, { all: true }, (error, addresses) =>
      resolve(error || !Array.isArray(addresses) ? [] : addresses.map(({ address }) => address)),
    );
  });
  return Promise.race([found, wait(LOOK_UP_MS, [], { ref: false })]);
}

/**
 * Refuses an address that would not be called now. What a name leads to may change until it is called, which is looked at again then.
 *
 * @throws FetchError
 */
export async function requirePublic(address: string, rules: FetchRules): Promise<void> {
  // Names of IPv6 addresses stand in brackets.
  const host = addressOf(address).hostname.replace(/^\[|\]$/g, "");
  if (rules.allowPrivate) return;
  const addresses = await addressesOf(host, rules);
  if (!addresses.every(isPublic)) throw new FetchError(NOT_PUBLIC);
}

function failed(cause: unknown): FetchError {
  const { name, message, code } = cause as NodeJS.ErrnoException;
  if (name === "AbortError" || name === "TimeoutError") return new FetchError("The server took too long.");
  if (/not allowed/i.test(message)) return new FetchError(NOT_PUBLIC);
  return new FetchError(`The server cannot be reached${code ? ` (${code})` : ""}.`);
}

function getOnce(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === "https:" ? getHttps : getHttp;
    try {
      get(url, options, resolve).on("error", reject);
    } catch (error) {
      reject(error);
    }
  });
}

/**
 * Fetches a file from a public address; redirects are followed, each checked like the first.
 *
 * @throws FetchError
 */
export async function safeFetch(address: string, rules: FetchRules): Promise<FetchedFile> {
  const signal = AbortSignal.timeout(rules.timeoutMs);
  let url = addressOf(address);
  for (let i = 0; i <= MAX_REDIRECTS; i++) {
    const headers = { accept: "image/*", "user-agent": "vd-studio" };
    const options = { agent: agentFor(url, rules), lookup: rules.lookup, signal, headers };
    const response = await getOnce(url, options).catch((error: unknown) => {
      throw failed(error);
    });
    const { statusCode = 0 } = response;
    const { location, "content-type": mediaType } = response.headers;
    if (REDIRECTS.has(statusCode) && location !== undefined) {
      response.destroy();
      if (!URL.canParse(location, url)) throw new FetchError("The server sent us to an address that is none.");
      url = addressOf(new URL(location, url).href);
      continue;
    }
    if (statusCode !== 200) {
      response.destroy();
      throw new FetchError(`The server answered ${statusCode}.`);
    }
    return { bytes: await bodyOf(response, rules), mediaType: mediaType?.split(";")[0]?.trim() ?? "" };
  }
  throw new FetchError(`More than ${MAX_REDIRECTS} redirects.`);
}

async function bodyOf(response: IncomingMessage, { maxBytes }: FetchRules): Promise<Uint8Array> {
  const tooLarge = () => new FetchError(`The file is larger than ${Math.floor(maxBytes / 2 ** 20)} MiB.`);
  if (Number(response.headers["content-length"] ?? 0) > maxBytes) {
    response.destroy();
    throw tooLarge();
  }
  const parts: Buffer[] = [];
  let numBytes = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      numBytes += part.length;
      if (numBytes > maxBytes) throw tooLarge();
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof FetchError ? error : failed(error);
  }
  return Buffer.concat(parts);
}

/** Posts a text to a public address; returns the status. Redirects are not followed. @throws FetchError */
export function safePost(
  address: string,
  body: string,
  headers: Record<string, string>,
  rules: FetchRules,
): Promise<number> {
  const url = addressOf(address);
  const signal = AbortSignal.timeout(rules.timeoutMs);
  const options = {
    method: "POST",
    agent: agentFor(url, rules),
    lookup: rules.lookup,
    signal,
    headers: { ...headers, "user-agent": "vd-studio" },
  };
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    try {
      const request = send(url, options, (response) => {
        response.destroy();
        resolve(response.statusCode ?? 0);
      });
      request.on("error", (error) => reject(failed(error))).end(body);
    } catch (error) {
      reject(failed(error));
    }
  });
}
