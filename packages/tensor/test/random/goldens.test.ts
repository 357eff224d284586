import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { loadFixture } from "../../../../tooling/goldens/fixture";
import { rngKind } from "../../../../tooling/goldens/kinds/rng";

describe("torch's random numbers", () => {
  const path = "../../../../fixtures/rng/rng.json";
  const fixture = loadFixture(fileURLToPath(new URL(path, import.meta.url)));
  afterAll(() => fixture.close());
  const context = { device: "cpu", dtype: "float32" } as const;
  const inputs = ["out.cuda.big.n", "out.cuda.big.index"];

  it.each(fixture.names.filter((name) => !inputs.includes(name)))("%s", async (name) => {
    for await (const check of rngKind.run({ ...fixture, names: [name] }, context)) {
      expect(check).toMatchObject({ name, ok: true });
    }
  });

  it("a name of an unknown form fails", async () => {
    const renamed = { ...fixture, names: ["out.cpu.dice.42"] };
    for await (const check of rngKind.run(renamed, context)) expect(check.ok).toBe(false);
  });
});
