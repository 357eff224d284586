import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readOutput } from "../../src/measure/contenders";
import { writeInputs } from "../../src/measure/inputs";
import { PeerProcess } from "../../src/measure/peer-process";
import { relativeL2 } from "../../src/stats/summary";
import { causalFixture, causalModel } from "../support/causal-model";
import { TINY_SVD, vdBench } from "../support/harness";
import { CAUSAL_CASES as CASES, measureCausal as measureVae } from "../support/measure-causal";
import { temporaryFolder } from "../support/temporary-folder";

const STAND_IN = fileURLToPath(new URL("../support/stand_in_peer.py", import.meta.url));
const PEER = fileURLToPath(new URL("../../peers/seedvr_vae.py", import.meta.url));
const ONE_FRAME = ["--frames", "1", "--size", "32x32"];
const NAMES = [
  "models/video_vae_v3/modules/attn_video_vae.py",
  "models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml",
  "configs_3b/main.yaml",
];

/** A folder with empty files where a checkout has those of the autoencoder. */
function emptyCheckout(names: readonly string[] = NAMES): string {
  const folder = temporaryFolder();
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
  return folder;
}

describe("vd-bench vae --seedvr", () => {
  it("refuses what is no checkout, and one without an autoencoder, before any work", async () => {
    const half = emptyCheckout(NAMES.slice(0, 2));
    const refused = await measureVae(["--causal-model", "random", "--seedvr", half]);
    expect(refused).toMatchObject({ file: undefined });
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toBe(
      `Error: [--seedvr] expected a checkout of SeedVR's code, with ${NAMES[2]}, got ${half}, which has no such file. ` +
        "git clone https://github.com/ByteDance-Seed/SeedVR, and name that folder.\n",
    );
    const gone = await measureVae(["--causal-model", "random", "--seedvr", join(half, "gone")]);
    expect(gone.stderr).toMatch(/got .*gone, which is not there/);
    const alone = await vdBench(["vae", "-m", TINY_SVD, "--seedvr", emptyCheckout()]);
    expect(alone).toMatchObject({ status: 2, stderr: expect.stringContaining("[--seedvr] expected --causal-model") });
  });

  it.each([[[]], [["--alone"]]])("puts the code beside ours, held against its float32 result %s", async (how) => {
    const model = ["--causal-model", causalModel(), "--seedvr", emptyCheckout(), "--peer-script", STAND_IN];
    const { status, stderr, row, file } = await measureVae([...ONE_FRAME, ...model, ...how]);
    expect(status, stderr).toBe(0);
    for (const suite of CASES) {
      const [plain, seedvr] = [row(suite, "ours-plain")!, row(suite, "seedvr")!];
      expect(plain.error, stderr).toBeGreaterThan(0.5); // The stand-in's ones are not the autoencoder's results.
      expect(seedvr).toMatchObject({ samplesUs: [1000, 1001], firstUs: 20, peakBytes: 4096, reservedBytes: 8192 });
      expect(seedvr.error).toBeCloseTo(0.01, 5);
      expect([seedvr.flops, seedvr.bytes]).toEqual([plain.flops, plain.bytes]);
    }
    expect(file!.versions).toMatchObject({ peerDevice: "stand-in", seedvr: expect.stringMatching(/SHA-256 e3b0c442/) });
    expect(JSON.stringify(file!.options)).not.toContain(model[3]);
  });

  it("goes on with ours where a package is missing, and says which", async () => {
    const script = join(temporaryFolder(), "peer.py");
    writeFileSync(script, "import no_such_package\n");
    const model = ["--causal-model", causalModel(), "--seedvr", emptyCheckout(), "--peer-script", script];
    const { row, stderr } = await measureVae([...ONE_FRAME, ...model]);
    for (const suite of CASES) {
      expect(row(suite, "seedvr")!.reason, stderr).toMatch(/^python3 has no package no_such_package: install it/);
      expect(row(suite, "ours-plain")!.error).toBeUndefined(); // The first one, which the others are held against.
      expect(row(suite, "ours-optimised")!.error).toBeLessThan(1e-5);
    }
  });

  it("ends the program where it takes longer than the limit, and starts it for the next case", async () => {
    const script = join(temporaryFolder(), "peer.py");
    writeFileSync(
      script,
      "import json, sys, time\n" +
        "for line in sys.stdin:\n" +
        "    request = json.loads(line)\n" +
        "    if request['cmd'] in ('reference', 'prepare'): time.sleep(60)\n" +
        "    print(json.dumps({'id': request['id'], 'ok': True, 'versions': {}}), flush=True)\n",
    );
    const model = ["--causal-model", causalModel(), "--seedvr", emptyCheckout(), "--peer-script", script];
    const limit = ["--alone", "--limit", "1", "--contenders", "seedvr"];
    const { file, stderr } = await measureVae([...ONE_FRAME, ...model, ...limit]);
    const rows = file?.rows.map(({ suite, contender, reason }) => ({ suite, contender, reason }));
    const late = { contender: "seedvr", reason: "more than 1 s, loading included" };
    expect(rows, stderr).toEqual(CASES.map((suite) => ({ suite, ...late })));
    const note = "no float32 reference (more than 1 s, loading included): distances are to the first row.";
    expect(file!.notes).toEqual(CASES.map((suite) => `${suite}: ${note}`));
  });
});

const { VD_SEEDVR: checkout, VD_PYTHON: python = "python3" } = process.env;

describe.skipIf(!checkout)("SeedVR's own code (needs VD_SEEDVR, a checkout; VD_PYTHON has its packages)", () => {
  it("computes the goldens, set up as its inference", { timeout: 120_000 }, async () => {
    const { config, clips, tensor } = causalFixture();
    const folder = temporaryFolder();
    const [inputs, path] = [join(folder, "in.safetensors"), join(folder, "out.safetensors")];
    const peer = new PeerProcess("seedvr", python, [PEER]);
    try {
      const opened = { model: causalModel(), device: "cpu", dtype: "float32", threads: 2 };
      await peer.request("open", { ...opened, seedvr: checkout, config });
      for (const clip of clips)
        for (const [part, from, to] of [
          ["encode", "x", "plain.moments"],
          ["decode", "z", "plain.decoded"],
        ] as const) {
          await writeInputs(inputs, { x: tensor(`in.${clip}.${from}`) });
          await peer.request("prepare", { part, mode: "eager", inputs });
          await peer.request("output", { part, mode: "eager", path });
          const golden = tensor(`out.${clip}.${to}`).data;
          expect(relativeL2(readOutput(path), golden), `${clip} ${part}`).toBeLessThan(1e-5);
          await peer.request("release", { part });
        }
    } finally {
      peer.stop();
    }
  });

  it("and ours compute the same, in slices", { timeout: 120_000 }, async () => {
    const options = ["--causal-model", causalModel(), "--seedvr", checkout!, "--python", python];
    const { row, stderr } = await measureVae(["--frames", "9", "--size", "64x48", ...options]);
    for (const suite of CASES)
      for (const contender of ["ours-plain", "ours-optimised", "seedvr"])
        expect(row(suite, contender)?.error, `${suite} ${contender}\n${stderr}`).toBeLessThan(1e-5);
  });
});
