import { expect, it } from "vitest";
import { type LoadReport, measureLoad } from "./load/load";
import { verdictsOf } from "./load/verdict";
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
  // Times are measured by test/load/main.ts on a machine that does nothing else; here, that calls are answered and videos made.
  expect(report.answers.count).toBeGreaterThan(10);
  const counts = report.completed.map(({ videos }) => videos);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
});

it("a load run says which promises were kept", () => {
  const report: LoadReport = {
    answers: { count: 1, p50: 1, p95: 1, p99: 1, max: 1 },
    serverP95: 50,
    statuses: { "200": 5, "429": 1 },
    listeners: { open: 500, events: 9 },
    memory: { second: 200, last: 219, most: 230 },
    completed: [20, 21, 22].map((videos) => ({ inQueue: 10, videos })),
  };
  const broken = (change: Partial<LoadReport>) =>
    verdictsOf({ ...report, ...change }, 500)
      .filter(({ isKept }) => !isKept)
      .map(({ what }) => what.split(" ")[0]);
  expect(broken({})).toEqual([]);
  expect(broken({ serverP95: 100 })).toEqual(["95"]);
  expect(broken({ memory: { second: 200, last: 221, most: 230 } })).toEqual(["memory,"]);
  expect(broken({ completed: [20, 21, 23].map((videos) => ({ inQueue: 10, videos })) })).toEqual(["videos"]);
  expect(broken({ completed: [0, 0].map((videos) => ({ inQueue: 10, videos })) })).toEqual(["videos"]);
  expect(broken({ listeners: { open: 499, events: 9 } })).toEqual(["connections"]);
  expect(broken({ statuses: { "200": 5, "500": 1 } })).toEqual(["answers"]);
});
