import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { loadFixture } from "../../../tooling/goldens/fixture";
import type { TensorCheck } from "../../../tooling/goldens/kind";
import { schedulersKind } from "../../../tooling/goldens/kinds/schedulers";

const sources = {
  "the committed fixture": "../../../fixtures/schedulers/schedulers.json",
  "further settings of every class": "./goldens/schedulers.json",
};

describe.each(Object.entries(sources))("%s", (_, path) => {
  const fixture = loadFixture(fileURLToPath(new URL(path, import.meta.url)));
  afterAll(() => fixture.close());

  it.each(Object.keys(fixture.json.cases))("%s: table, single steps and trajectory", async (name) => {
    const json = { ...fixture.json, cases: { [name]: fixture.json.cases[name] } };
    const checks: TensorCheck[] = [];
    const context = { device: "cpu", dtype: "float32" } as const;
    for await (const check of schedulersKind.run({ ...fixture, json }, context)) checks.push(check);
    expect(checks.length).toBeGreaterThan(2 * fixture.json.cases[name].model_calls);
    expect(checks.find(({ ok }) => !ok)).toBeUndefined();
  });
});

describe("the kind itself", () => {
  const fixture = loadFixture(fileURLToPath(new URL(sources["the committed fixture"], import.meta.url)));
  afterAll(() => fixture.close());

  /** The names of the failing checks when the case's JSON is changed. */
  async function failuresOf(name: string, change: object): Promise<string[]> {
    const json = { ...fixture.json, cases: { [name]: { ...fixture.json.cases[name], ...change } } };
    const failures: string[] = [];
    for await (const check of schedulersKind.run({ ...fixture, json }, { device: "cpu", dtype: "float32" })) {
      if (!check.ok) failures.push(check.name);
    }
    return failures;
  }

  it("sees a wrong noise level, timestep, solver and stochasticity", async () => {
    const svd = fixture.json.cases["euler_svd.10"].config;
    expect(await failuresOf("euler_svd.10", { config: { ...svd, sigma_max: 700.01 } })).toContain(
      "out.euler_svd.10.sigmas",
    );
    expect(
      (
        await failuresOf("dpmpp_2m.10", { config: { ...fixture.json.cases["dpmpp_2m.10"].config, solver_order: 3 } })
      )[0],
    ).toBe("out.dpmpp_2m.10.x[3]");
    const ddim = fixture.json.cases["ddim_eps_leading.10"].config;
    expect((await failuresOf("ddim_eps_leading.10", { config: { ...ddim, steps_offset: 0 } }))[0]).toBe(
      "out.ddim_eps_leading.10.timesteps",
    );
    expect((await failuresOf("tcd.10", { step_args: { eta: 0.31 } }))[0]).toBe("out.tcd.10.x[1]");
  });
});
