// @vd/profiler without CUDA and without the pipeline: where the time of a plan goes, as a table and as JSON.
import { Device } from "@vd/kernels-native";
import { createProfiler } from "@vd/profiler";
import { CpuGenerator, compile } from "@vd/tensor";

const size = 256;
const random = new CpuGenerator(7);
const profiler = createProfiler();

await profiler.scope("two layers", async () => {
  const record = (g) => {
    const x = g.input("x", [1, 1, size, size]);
    const hidden = g.linear({ x, weight: g.input("w1", [size, size]), act: "silu" });
    g.output("y", g.linear({ x: hidden, weight: g.input("w2", [size, size]) }));
  };
  const plan = await compile(Device.cpu(), record, { observer: profiler, name: "mlp" });
  for (const name of ["x", "w1", "w2"]) plan.writeSync(name, random.randn(size * size));
  await plan.run();
});

console.log(await profiler.render("txt"));
const report = profiler.report();
console.log("scopes in the report:", JSON.stringify(report).includes("two layers"));
