import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { watchOutputs } from "../src/watch-outputs";

function watch() {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const onLost = vi.fn();
  const lost = watchOutputs({ stdout, stderr }, "Make room", onLost);
  return { stdout, stderr, lost, onLost, said: () => String(stderr.read() ?? "") };
}

const failure = (code: string) => Object.assign(new Error(`${code}: it failed`), { code });

it("tells once of an output that takes no more", () => {
  const { stdout, lost, onLost, said } = watch();
  expect(lost.isTold).toBe(false);
  for (let i = 0; i < 2; i++) stdout.emit("error", failure("ENOSPC"));
  expect(lost.isTold).toBe(true);
  expect(onLost).toHaveBeenCalledOnce();
  expect(said()).toBe(
    "Error: [standard output] expected one that takes what is written, got ENOSPC: it failed. Make room.\n",
  );
});

it("is content with a reader that goes away, and cannot tell where it would tell", () => {
  const { stdout, stderr, lost, said } = watch();
  stdout.emit("error", failure("EPIPE"));
  expect([lost.isTold, said()]).toEqual([false, ""]);
  stderr.emit("error", failure("ENOSPC"));
  expect([lost.isTold, said()]).toEqual([true, ""]);
});
