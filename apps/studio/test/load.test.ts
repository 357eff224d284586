import { expect, it } from "vitest";
import { measureLoad } from "./load/load";
import { temporaryFolder } from "./support/harness";
import { spawnProgram } from "./support/spawn-program";

it("answers many clients while it works, and keys take turns", async () => {
  const { folder, remove } = temporaryFolder();
  const server = await spawnProgram(
    "--no-open",
    "--port",
    "0",
    "--data",
    folder,
    "--workers",
    "2",
    "--drain-seconds",
    "0",
  );
  const report = await measureLoad({ url: server.line, folder, seconds: 6, listeners: 50, submitters: 10 });
  await server.end("SIGTERM");
  remove();
  expect(report.listeners.open).toBe(50);
  expect(report.listeners.events).toBeGreaterThan(50);
  expect(Object.keys(report.statuses).sort()).toEqual(expect.arrayContaining(["200"]));
  for (const status of Object.keys(report.statuses)) expect(["200", "429"]).toContain(status);
  // Times are measured by test/load/main.ts on a machine that does nothing else; here they only say that nothing stands still.
  expect(report.serverP95).toBeLessThanOrEqual(2000);
  const counts = report.completed.map(({ videos }) => videos);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
});
