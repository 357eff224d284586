// Run by tools.test.ts in a process that stand-ins for NVIDIA's tools are attached to.
import { Device } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { createProfiler } from "../../src/index";

const profiler = createProfiler({ kernels: true });
await profiler.scope("work", async () => {
  const layout = layoutGraph((g) => {
    const weight = g.constant(new Float32Array(64).fill(0.5), [8, 8]);
    g.output("y", g.linear({ name: "a.0.b", x: g.input("x", [1, 1, 16, 8]), weight }));
  });
  const plan = await Plan.load(Device.cpu({ threads: 1 }), layout, { observer: profiler });
  await plan.run();
  plan.freeSync();
});
profiler.stopKernels();
const [text, page] = [await profiler.render("txt"), await profiler.render("html")];
process.stdout.write(JSON.stringify({ ...profiler.report(), text, page }));
