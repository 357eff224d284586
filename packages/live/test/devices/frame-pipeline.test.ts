import { Device, VdError } from "@vd/kernels-native";
import { CpuGenerator, type Graph, layoutGraph, openDevices, Plan, type Tensor } from "@vd/tensor";
import { afterEach, describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { type FrameInputs, type FramePart, FramePipeline } from "../../src/index";

const LATENTS = [1, 1, 8, 8, 4];
const random = new CpuGenerator(3);
const filter = (cout: number, cin: number) => {
  const data = random.randn(cout * cin * 9).map((value) => value / Math.sqrt(9 * cin));
  return (g: Graph) => g.constant(data, [cout, cin, 1, 3, 3]);
};
const [first, second, up] = [filter(32, 4), filter(4, 32), filter(3, 4)];
const padding: [number, number, number, number, number, number] = [0, 0, 1, 1, 1, 1];

/** Mixes noise into what it remembers of the frames before: their order matters. */
function denoise(g: Graph, noise: Tensor): Tensor {
  const memory = g.state("memory", LATENTS);
  const h = g.conv({ x: noise, weight: first(g), padding, residual: undefined, act: "silu" });
  const latents = g.conv({ x: h, weight: second(g), padding, residual: memory, residualScale: 0.5 });
  g.copy({ x: tokensOf(latents), out: tokensOf(memory) });
  return latents;
}

const tokensOf = (t: Tensor): Tensor => ({ ...t, dims: [1, 1, 64, t.dims[4]!] });

const decode = (g: Graph, z: Tensor): Tensor =>
  g.framesOut({ x: g.conv({ x: z, weight: up(g), padding, upsample: true }) });

const COUNT = 6;
const inputs: FrameInputs[] = Array.from({ length: COUNT }, () => [{ noise: random.randn(256) }]);

function parts(): FramePart[] {
  const [a, b] = openDevices(["cpu", "cpu"], { threads: 2 });
  return [
    { name: "denoiser", on: a!, build: (g) => g.output("latents", denoise(g, g.input("noise", LATENTS))) },
    {
      ...{ name: "autoencoder", on: b!, takes: { z: "latents" } },
      build: (g) => g.output("levels", decode(g, g.input("z", LATENTS))),
    },
  ];
}

/** The frames of one device and one plan. */
async function expectedFrames(): Promise<Uint8Array[]> {
  const layout = layoutGraph((g) => g.output("levels", decode(g, denoise(g, g.input("noise", LATENTS)))));
  const plan = await Plan.load(Device.cpu({ threads: 2 }), layout);
  const frames: Uint8Array[] = [];
  for (const [{ noise }] of inputs as [{ noise: Float32Array }][]) {
    await plan.write("noise", noise);
    await plan.run();
    frames.push(await plan.readBytes("levels"));
  }
  await plan.free();
  return frames;
}

async function collect(pipeline: FramePipeline, source: Iterable<FrameInputs> = inputs): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = [];
  for await (const frame of pipeline.frames(source, ["levels"])) frames.push(frame.get("levels")!);
  return frames;
}

/** Tells when runs begin and end, by device: the n-th device that compiles is n. */
function watchRuns(before: (device: number, run: number) => Promise<void>): void {
  const compile = Device.prototype.compile;
  const devices: Device[] = [];
  const runs: number[] = [];
  vi.spyOn(Device.prototype, "compile").mockImplementation(async function (this: Device, ...args) {
    if (!devices.includes(this)) devices.push(this);
    const index = devices.indexOf(this);
    const program = await compile.apply(this, args);
    const run = program.run.bind(program);
    program.run = async (options) => {
      runs[index] = (runs[index] ?? 0) + 1;
      await before(index, runs[index]!);
      return run(options);
    };
    return program;
  });
}

afterEach(() => vi.restoreAllMocks());

describe("frames in a pipeline over two devices", () => {
  it("are those of one device, in their order", async () => {
    const pipeline = await FramePipeline.open(parts());
    expect(await collect(pipeline)).toEqual(await expectedFrames());
    const stats = pipeline.stats();
    expect(stats.map(({ name, device, frames }) => [name, device, frames])).toEqual([
      ["denoiser", "cpu:0", COUNT],
      ["autoencoder", "cpu:1", COUNT],
    ]);
    expect(stats.every(({ busyMs }) => busyMs > 0)).toBe(true);
    await pipeline.close();
  });

  it("overlap: the denoiser makes the next one while one is decoded, and never two ahead", async () => {
    const events: string[] = [];
    let decodeOne = () => {};
    const waits = new Promise<void>((resolve) => {
      decodeOne = resolve;
    });
    watchRuns(async (device, run) => {
      events.push(`${device} ${run}`);
      if (device === 1 && run === 1) await waits;
    });
    const pipeline = await FramePipeline.open(parts());
    const made = collect(pipeline);
    while (!events.includes("0 2")) await new Promise((resolve) => setTimeout(resolve, 1));
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(events).toEqual(["0 1", "1 1", "0 2"]);
    decodeOne();
    expect(await made).toEqual(await expectedFrames());
    await pipeline.close();
  });

  it("end where a device is lost, which is named; leaving the loop waits for those under way", async () => {
    watchRuns(async (device, run) => {
      if (device === 1 && run === 3)
        throw new VdError({ code: "driver", where: "run", expected: "a working device", got: "one that was lost" });
    });
    const pipeline = await FramePipeline.open(parts());
    const seen: number[] = [];
    const reading = async () => {
      for await (const frame of pipeline.frames(inputs, ["levels"])) seen.push(frame.size);
    };
    const error = await failureOf(reading());
    expect([error.code, error.where, seen.length]).toEqual(["driver", "cpu:1] [run", 2]);
    await pipeline.close();
    vi.restoreAllMocks();
    const again = await FramePipeline.open(parts());
    for await (const frame of again.frames(inputs, ["levels"])) {
      expect(frame.get("levels")!.length).toBe(16 * 16 * 3);
      break;
    }
    await again.close();
  });

  it("are not begun where a part cannot be loaded", async () => {
    const [denoiser, autoencoder] = parts();
    const broken: FramePart = {
      ...autoencoder!,
      build: (g) => g.output("y", g.input("z", LATENTS)),
      takes: { no: "latents" },
    };
    const pipeline = await FramePipeline.open([denoiser!, broken]);
    expect((await failureOf(collect(pipeline))).where).toBe("cpu:1] [plan");
    await pipeline.close();
    const failing: FramePart = {
      ...autoencoder!,
      build: () => {
        throw new VdError({ code: "shape", where: "conv", expected: "a", got: "b" });
      },
    };
    expect((await failureOf(FramePipeline.open([denoiser!, failing]))).where).toBe("cpu:1] [conv");
  });
});
