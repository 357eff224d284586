import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { VideoView } from "../../src/videos/view";
import { pictureAddress, TINY, temporaryFolder } from "../support/harness";
import { spawnProgram } from "../support/spawn-program";

/** How a server's durability is tried. */
export interface DurabilityOptions {
  numVideos: number;
  /** How often the server is killed, at moments by chance. */
  numKills: number;
  numWorkers: number;
  /** The whole run may take so long, in seconds. */
  limitS: number;
  /** Hears how far the run is. */
  tell(line: string): void;
}

/** What is left at the end. */
export interface DurabilityOutcome {
  /** Ids that calls were answered with. */
  ids: ReadonlySet<string>;
  videos: readonly VideoView[];
  /** Names in the folder of videos, and in each video's own. */
  folders: readonly string[];
  files: readonly string[][];
  /** What a second server on the same folder says. */
  secondServer: string;
  /** Of the last server, after SIGTERM. */
  exitStatus: number | null;
}

const MAX_LIFE_MS = 4000;
const TELL_MS = 5000;

/** The same moments in every run, as parts of the longest life of a server. */
function* moments(seed = 1): Generator<number> {
  for (let state = seed; ; ) {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    yield state / 2 ** 32;
  }
}

/** Queues videos at a server that is killed again and again, waits for them, and returns what is left. @throws Error at the limit of time */
export async function tryDurability(options: DurabilityOptions): Promise<DurabilityOutcome> {
  const { numVideos, numKills, numWorkers, limitS, tell } = options;
  const { folder, remove } = temporaryFolder();
  const words = ["--no-open", "--port", "0", "--data", folder, "--workers", String(numWorkers), "--threads", "1"];
  const image = await pictureAddress();
  const startedAt = performance.now();
  let server = await spawnProgram(...words);
  const ask = async <T>(path: string, init?: RequestInit) =>
    (await fetch(new URL(path, server.line), init)).json() as Promise<T>;
  const submit = (i: number) => {
    const headers = { "content-type": "application/json", "idempotency-key": `video ${i}` };
    const body = JSON.stringify({ image, ...TINY, steps: 2, seed: i });
    return ask<VideoView>("v1/videos", { method: "POST", headers, body });
  };
  const list = async (): Promise<VideoView[]> => {
    const all: VideoView[] = [];
    for (let more = true; more; ) {
      const after = all.length > 0 ? `&after=${all.at(-1)!.id}` : "";
      const page = await ask<{ data: VideoView[]; has_more: boolean }>(`v1/videos?limit=100${after}`);
      all.push(...page.data);
      more = page.has_more;
    }
    return all;
  };
  const inTime = (doing: string) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    tell(`${seconds} s: ${doing}`);
    if (seconds > limitS) throw new Error(`After ${seconds} s of ${limitS}: ${doing}`);
  };
  try {
    const random = moments();
    const queue = Array.from({ length: numVideos }, (_, i) => i);
    const ids = new Set<string>();
    for (let kills = 0; kills < numKills; kills++) {
      // A call that the kill has cut off is made again with the same key, as a client would.
      const submitting = Promise.all(queue.map(async (i) => ids.add((await submit(i)).id))).catch(() => {});
      await wait(random.next().value! * MAX_LIFE_MS);
      await server.end("SIGKILL");
      await submitting;
      server = await spawnProgram(...words);
      inTime(`killed ${kills + 1} of ${numKills} times, ${ids.size} of ${numVideos} videos taken`);
    }
    for (const i of queue) ids.add((await submit(i)).id);
    const numOpen = (videos: readonly VideoView[]) =>
      videos.filter(({ status }) => status === "queued" || status === "in_progress").length;
    let videos = await list();
    for (let told = 0; numOpen(videos) > 0; videos = await list()) {
      if (performance.now() - told > TELL_MS) {
        inTime(`${numVideos - numOpen(videos)} of ${numVideos} videos have ended`);
        told = performance.now();
      }
      await wait(100);
    }
    const folders = (await readdir(join(folder, "videos"))).sort();
    const files = await Promise.all(folders.map(async (id) => (await readdir(join(folder, "videos", id))).sort()));
    const secondServer = await spawnProgram(...words).then(
      async (second) => {
        await second.end("SIGKILL");
        return "started";
      },
      (error: Error) => error.message,
    );
    return { ids, videos, folders, files, secondServer, exitStatus: await server.end("SIGTERM") };
  } finally {
    await server.end("SIGKILL");
    remove();
  }
}

/** Returns what of an outcome is not as promised, one sentence each. */
export function faultsOf(outcome: DurabilityOutcome, options: DurabilityOptions): string[] {
  const { ids, videos, folders, files, secondServer, exitStatus } = outcome;
  const { numVideos, numKills, numWorkers } = options;
  const faults: string[] = [];
  const check = (isFine: boolean, sentence: string) => void (isFine || faults.push(sentence));
  check(ids.size === numVideos, `${numVideos} calls made ${ids.size} videos`);
  check(videos.length === numVideos, `${videos.length} videos are listed`);
  const others = videos.filter(({ status }) => status !== "completed");
  check(others.length === 0, `not completed: ${others.map(({ id, error }) => `${id} (${error?.message})`).join(", ")}`);
  check(new Set(videos.map(({ settings }) => settings.seed)).size === numVideos, "a video was made twice");
  // Only what ran when the server was killed was begun again.
  const begun = videos.reduce((sum, { attempts }) => sum + attempts, 0);
  check(begun <= numVideos + numKills * numWorkers, `work was begun ${begun} times`);
  check(folders.join() === [...ids].sort().join(), `folders of videos: ${folders.join()}`);
  check(
    files.every((names) => names.join() === "picture,result"),
    "something lies beside pictures and results",
  );
  check(secondServer.includes("another vd-studio uses"), `a second server on the folder: ${secondServer}`);
  check(exitStatus === 0, `it ended with status ${exitStatus}`);
  return faults;
}
