import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledProgram } from "../../../../tooling/testing/program";
import { type RunningStudio, type ServeContext, startStudio } from "../../src/commands/serve";
import { readWords, SERVE } from "../../src/options/commands";
import type { ServeSettings } from "../../src/options/settings";
import { openDatabase } from "../../src/queue/database";
import { VideoTable } from "../../src/queue/video-table";
import type { VideoView } from "../../src/videos/view";
import type { WorkerProgram } from "../../src/workers/worker-process";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The worker from its sources. */
export const WORKER_PROGRAM: WorkerProgram = { path: await bundledProgram(at("../../src/workers/child.ts")) };

/** A picture of tiny-svd's world. */
export const PICTURE = at("../../../../models/tiny-svd/samples/one-ball.png");

/** Settings of a video that is made at once. */
export const TINY = { size: "32x32", numFrames: 2, steps: 1, seed: 7, previewEvery: 0 } as const;

/** The picture as a `data:` address. */
export const pictureAddress = async () => `data:image/png;base64,${(await readFile(PICTURE)).toString("base64")}`;

/** Makes a folder that is deleted by what is returned with it. */
export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "vd-studio-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Opens the videos of a folder as a queue does. */
export const openTable = (folder: string): VideoTable => new VideoTable(openDatabase(folder));

/** The settings that words on the command line make. */
export function settingsOf(...words: string[]): ServeSettings {
  const read = readWords(SERVE, ["--no-open", "--port", "0", "--drain-seconds", "0", ...words]);
  if (read.kind === "text") throw new Error(read.text);
  return read.values as unknown as ServeSettings;
}

/** A server with calls to it. */
export interface TestStudio extends RunningStudio {
  call(path: string, init?: RequestInit): Promise<Response>;
  json<T = VideoView>(path: string, init?: RequestInit): Promise<T>;
  /** Queues a video. */
  submit(fields?: Record<string, unknown>, headers?: Record<string, string>): Promise<Response>;
  /** Waits until a video has ended. */
  ended(id: string): Promise<VideoView>;
  logs: string[];
}

/** Starts a server from its sources. */
export async function startTestStudio(
  folder: string,
  words: readonly string[] = [],
  more: Partial<ServeContext> = {},
): Promise<TestStudio> {
  const logs: string[] = [];
  const context = {
    program: WORKER_PROGRAM,
    page: undefined,
    version: "0.0.0",
    log: (text: string) => logs.push(text),
    ...more,
  };
  const studio = await startStudio(settingsOf("--data", folder, ...words), context);
  const call = (path: string, init?: RequestInit) => fetch(new URL(path, studio.url), init);
  const json = async <T>(path: string, init?: RequestInit) => (await call(path, init)).json() as Promise<T>;
  const image = await pictureAddress();
  return {
    ...{ ...studio, call, json, logs },
    submit: (fields = {}, headers = {}) =>
      call("v1/videos", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ image, ...TINY, ...fields }),
      }),
    ended: async (id) => {
      for (;;) {
        const video = await json<VideoView>(`v1/videos/${id}`);
        if (video.status === "completed" || video.status === "failed") return video;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    },
  };
}
