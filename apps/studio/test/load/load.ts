import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { addKeyCommand } from "../../src/commands/keys";
import type { VideoView } from "../../src/videos/view";
import { pictureAddress, TINY } from "../support/harness";

/** How a server is loaded. */
export interface LoadOptions {
  url: string;
  /** Data folder of the server, for keys. */
  folder: string;
  seconds: number;
  /** Connections that listen to events. */
  listeners: number;
  /** Loops that queue videos, shared evenly by the keys. */
  submitters: number;
}

/** What was measured. */
export interface LoadReport {
  /** Answers to calls but events and files, in ms as the client sees them. */
  answers: { count: number; p50: number; p95: number; p99: number; max: number };
  /** As the server counts them: the upper edge of the bucket of the histogram, in ms. */
  serverP95: number;
  statuses: Record<string, number>;
  listeners: { open: number; events: number };
  /** Of the server, MiB: mean over the second and over the last quarter of the time, and the most. */
  memory: { second: number; last: number; most: number };
  /** Videos completed, by key; each may have another number of them in the queue. */
  completed: { inQueue: number; videos: number }[];
}

/** How many videos each key may have in the queue: fairness does not depend on it. */
const IN_QUEUE = [10, 20, 40, 80, 160] as const;
const SAMPLE_MS = 1000;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function percentiles(times: number[]): LoadReport["answers"] {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** The smallest edge below which 95 % of all observations are; of a histogram of Prometheus. */
function histogramP95(text: string): number {
  const buckets = new Map<number, number>();
  for (const [, route, edge, count] of text.matchAll(
    /^vd_http_request_seconds_bucket\{(.*)le="([^"]+)".*\} (\d+)$/gm,
  )) {
    if (/route="\/v1\/events"/.test(route!)) continue;
    const le = edge === "+Inf" ? Number.POSITIVE_INFINITY : Number(edge);
    buckets.set(le, (buckets.get(le) ?? 0) + Number(count));
  }
  const edges = [...buckets].sort(([a], [b]) => a - b);
  const total = edges.at(-1)?.[1] ?? 0;
  return (edges.find(([, count]) => count >= 0.95 * total)?.[0] ?? Number.NaN) * 1000;
}

async function askListeners(child: ChildProcess): Promise<{ numOpen: number; numEvents: number }> {
  child.send("count");
  const [answer] = (await once(child, "message")) as [{ numOpen: number; numEvents: number }];
  return answer;
}

/** Loads a server and measures. */
export async function measureLoad({ url, folder, seconds, listeners, submitters }: LoadOptions): Promise<LoadReport> {
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const memory: number[] = [];
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const start = performance.now();
    const response = await fetch(new URL(path, url), init);
    const text = await response.text();
    times.push(performance.now() - start);
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    return new Response(text, { status: response.status });
  };
  const keys = await Promise.all(
    IN_QUEUE.map(async (videos, i) => {
      const text = await addKeyCommand({ data: folder, redis: undefined, videos, perMinute: 1_000_000 }, `load ${i}`);
      return text.split("\n")[0]!;
    }),
  );
  const image = await pictureAddress();
  const child = fork(fileURLToPath(new URL("listeners.ts", import.meta.url)), [url, String(listeners)], {
    execArgv: ["--import", "tsx"],
  });
  while ((await askListeners(child)).numOpen < listeners) await wait(100);
  const end = performance.now() + seconds * 1000;
  const submitter = async (i: number) => {
    const headers = { authorization: `Bearer ${keys[i % keys.length]}`, "content-type": "application/json" };
    for (let seed = i; performance.now() < end; seed += submitters) {
      const answer = await call("v1/videos", {
        method: "POST",
        headers,
        body: JSON.stringify({ image, ...TINY, seed }),
      });
      if (answer.status === 200) await call(`v1/videos/${((await answer.json()) as VideoView).id}`, { headers });
      await wait(answer.status === 429 ? 500 : 100);
      await call("v1/videos?limit=20", { headers });
    }
  };
  const sampler = async () => {
    while (performance.now() < end) {
      const text = await (await call("metrics")).text();
      memory.push(Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 2 ** 20);
      await wait(SAMPLE_MS);
    }
  };
  await Promise.all([sampler(), ...Array.from({ length: submitters }, (_, i) => submitter(i))]);
  const heard = await askListeners(child);
  child.disconnect();
  const serverP95 = histogramP95(await (await call("metrics")).text());
  const completed = await Promise.all(
    keys.map(async (key, i) => ({ inQueue: IN_QUEUE[i]!, videos: await countOf(url, key) })),
  );
  const quarter = (i: number) =>
    mean(memory.slice(Math.floor((i * memory.length) / 4), Math.ceil(((i + 1) * memory.length) / 4)));
  return {
    ...{ answers: percentiles(times), serverP95, statuses, completed },
    listeners: { open: heard.numOpen, events: heard.numEvents },
    memory: { second: quarter(1), last: quarter(3), most: Math.max(...memory) },
  };
}

async function countOf(url: string, key: string): Promise<number> {
  let count = 0;
  for (let after = ""; ; ) {
    const answer = await fetch(new URL(`v1/videos?status=completed&limit=100${after}`, url), {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data, has_more, last_id } = (await answer.json()) as {
      data: unknown[];
      has_more: boolean;
      last_id: string;
    };
    count += data.length;
    if (!has_more) return count;
    after = `&after=${last_id}`;
  }
}
