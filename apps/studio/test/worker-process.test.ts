import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { WorkOrder } from "../src/workers/messages";
import { WorkerProcess } from "../src/workers/worker-process";
import { temporaryFolder } from "./support/harness";

it("how a worker process ended is for clients; its last words, with paths of this machine, are for the log", async () => {
  const { folder, remove } = temporaryFolder();
  const path = join(folder, "worker.mjs");
  await writeFile(
    path,
    'process.on("message", () => process.stderr.write("at /home/me/model\\n", () => process.exit(3)));',
  );
  const logs: string[] = [];
  const worker = new WorkerProcess({ path, log: (text) => logs.push(text) });
  const outcome = await worker.make({} as WorkOrder, () => {});
  expect(outcome).toEqual({ type: "crashed", message: "The worker process ended with status 3." });
  expect(logs).toEqual(["The worker process ended with status 3.\nat /home/me/model\n"]);
  remove();
});
