import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import type { ModelLoading } from "../../src/model/factory";
import { parseLoras } from "../../src/model/loras";
import { runCommand } from "../support/harness";

describe("parseLoras", () => {
  it.each([
    [undefined, []],
    ["a.safetensors", [{ path: "a.safetensors" }]],
    ["a.safetensors:0.8", [{ path: "a.safetensors", weight: 0.8 }]],
    ["a:-1,b:.5,c", [{ path: "a", weight: -1 }, { path: "b", weight: 0.5 }, { path: "c" }]],
    ["C:\\x.safetensors", [{ path: "C:\\x.safetensors" }]],
    ["C:\\x.safetensors:2", [{ path: "C:\\x.safetensors", weight: 2 }]],
  ])("reads %s", (typed, loras) => {
    expect(parseLoras(typed)).toEqual(loras);
  });

  it("refuses an empty name", () => {
    expect(thrownBy(() => parseLoras("a,,b"))).toMatchObject({ code: "attr", where: "--lora" });
  });
});

describe("--lora", () => {
  it("may be given more than once, and is checked before a model is loaded", async () => {
    const folder = temporaryFolder();
    const names = ["a.safetensors", "b.safetensors", "c.safetensors"].map((name) => join(folder, name));
    for (const name of names) writeFileSync(name, "");
    const loaded: ModelLoading["loras"][] = [];
    const fake = { onLoad: (_: unknown, { loras }: ModelLoading) => loaded.push(loras) };
    const [a, b, c] = names as [string, string, string];
    const output = join(folder, "o.gif");
    await runCommand(["-o", output, "--lora", `${a}:0.5`, "--lora", `${b},${c}:2`, "-q"], fake);
    expect(loaded).toEqual([[{ path: a, weight: 0.5 }, { path: b }, { path: c, weight: 2 }]]);
    const { status, stderr } = await runCommand(["-o", output, "--lora", "none.safetensors"], fake);
    expect([status, loaded.length]).toEqual([1, 1]);
    expect(stderr).toContain(
      "[--lora] expected a LoRA that can be read, got no such file or folder (none.safetensors)",
    );
  });
});
