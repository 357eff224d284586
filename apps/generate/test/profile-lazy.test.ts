import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { runCommand } from "./support/harness";

const loads = vi.hoisted(() => ({ profiler: 0 }));
vi.mock("@vd/profiler", (original) => {
  loads.profiler++;
  return original();
});

it("loads the profiler for --profile and for nothing else", async () => {
  const folder = temporaryFolder();
  expect((await runCommand(["-o", join(folder, "a.gif")])).status).toBe(0);
  expect(loads.profiler).toBe(0);
  expect((await runCommand(["-o", join(folder, "b.gif"), "--profile", join(folder, "b.json")])).status).toBe(0);
  expect(loads.profiler).toBe(1);
});
