import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, minutes to a few seconds: begun late, one of them would keep a single core busy at the end. */
const LONG = [
  "packages/tensor/test/ops.test.ts",
  "tooling/test/check/windows/windows.test.ts",
  "packages/tensorrt/test/export/op-cases.test.ts",
  "apps/studio/test/web/page.test.ts",
  "tooling/test/check/packages/examples.test.ts",
  "apps/studio/test/restart.test.ts",
  "packages/svd-pipeline/test/generation/steering/saved-calls.test.ts",
  "packages/svd-pipeline/test/generation/resume/kill.test.ts",
  "packages/svd-pipeline/test/generation/resume/resume.test.ts",
  "apps/studio/test/api.test.ts",
  "packages/tensorrt/test/trt/engine.test.ts",
  "tooling/test/check/packages/docs.test.ts",
  "tooling/test/check/packages/command-lines.test.ts",
  "packages/svd-pipeline/test/generation/calls.test.ts",
  "packages/svd-pipeline/test/pipeline.test.ts",
  "packages/svd-pipeline/test/precision/generate.test.ts",
  "apps/studio/test/redis.test.ts",
  "apps/studio/test/durability.test.ts",
  "packages/svd-pipeline/test/generation/steering/steered.test.ts",
  "tooling/test/goldens/main.test.ts",
  "apps/bench/test/measure/measure.test.ts",
  "apps/bench/test/ops/ops.test.ts",
  "apps/studio/test/webhooks.test.ts",
  "packages/svd-pipeline/test/generation/samplers.test.ts",
  "packages/kernels-native/test/addon-fuzz.test.ts",
  "packages/tensorrt/test/denoisers/pipeline.test.ts",
  "packages/tensor/test/weights/safetensors-fuzz.test.ts",
  "packages/svd-pipeline/test/generation/profile.test.ts",
];

const rank = ({ moduleId }: TestSpecification): number => {
  const found = LONG.findIndex((path) => moduleId.endsWith(path));
  return found === -1 ? LONG.length : found;
};

/** Vitest's order, which on a fresh clone knows only how large files are, with the longest files of each project first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const place = (file: TestSpecification) => projects.indexOf(file.project);
    return sorted.sort((a, b) => place(a) - place(b) || rank(a) - rank(b));
  }
}
