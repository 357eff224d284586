import { expect, test } from "vitest";
import { parseLog, serializedKernels, table } from "../../../build/cubins/report.mjs";
import {
  contentHash,
  gencode,
  imageName,
  kernelHash,
  sourcesFor,
  TARGETS,
  TEMPLATE_TARGETS,
  templateSources,
} from "../../../build/cubins/sources.mjs";

const LOG = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'copy_vector' for 'sm_75'
ptxas info    : Function properties for copy_vector
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers, 408 bytes cmem[0]
ptxas info    : Compiling entry function 'conv_big' for 'sm_75'
ptxas info    : Function properties for conv_big
    16 bytes stack frame, 24 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 49152 bytes smem, 408 bytes cmem[0]
ptxas info    : Function properties for __internal_trig_reduction_slowpathd
    40 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
`;

test("registers, shared memory and spills come from ptxas' words, of kernels only", () => {
  const kernels = parseLog(LOG);
  expect(kernels).toEqual([
    { kernel: "copy_vector", registers: 31, sharedBytes: 0, stackBytes: 0, spillBytes: 0 },
    { kernel: "conv_big", registers: 255, sharedBytes: 49152, stackBytes: 16, spillBytes: 36 },
  ]);
  const text = table([{ target: "sm_75", ...kernels[1] }]);
  expect(text.split("\n")).toEqual([
    "target  kernel    registers  shared  stack  spill",
    "sm_75   conv_big        255   49152     16     36",
  ]);
});

test("kernels whose products ptxas serializes are named", () => {
  const loss =
    "ptxas info    : (C7513) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ";
  const cause =
    "non wgmma instructions defining input registers of a wgmma between start and end of the pipeline stage in the";
  expect(serializedKernels(LOG)).toEqual([]);
  expect(serializedKernels(`${loss}${cause} function 'attention_slow'\n${LOG}`)).toEqual(["attention_slow"]);
});

test("targets have names and flags; Hopper's sources are for Hopper alone", () => {
  expect(TARGETS.map(imageName)).toContain("compute_75");
  expect(gencode("90a")).toBe("-gencode=arch=compute_90a,code=sm_90a");
  expect(gencode("ptx80")).toBe("-gencode=arch=compute_80,code=compute_80");
  const isHopper = (path: string) => path.endsWith(".sm90.cu");
  expect(sourcesFor("80").some(isHopper)).toBe(false);
  expect(sourcesFor("90a").some(isHopper)).toBe(true);
});

test("sources of kernels that are completed where they run are built as text alone, for architectures that have PTX", () => {
  const [template] = templateSources() as [string];
  expect(template).toMatch(/\.template\.cu$/);
  for (const target of TARGETS) expect(sourcesFor(target)).not.toContain(template);
  for (const target of TEMPLATE_TARGETS) expect(TARGETS).toContain(target);
});

test("a source's hash depends on its flags and stays the same otherwise", () => {
  const [first] = sourcesFor("80") as [string];
  expect(contentHash(first, "a")).toBe(contentHash(first, "a"));
  expect(contentHash(first, "a")).not.toBe(contentHash(first, "b"));
  expect(kernelHash()).toMatch(/^[0-9a-f]{64}$/);
});
