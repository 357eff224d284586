import { resolveModel } from "@vd/svd-pipeline";
import { peakProcessBytes } from "@vd/tensor";
import { SingleBar } from "cli-progress";
import { Command, Option } from "commander";
import {
  type ExportOptions,
  type ExportPrecision,
  type ExportProgress,
  exportModel,
  PRECISIONS,
} from "../export/export-model";
import { FREE_SIZES, type FreeSizeName, PARTS, type Part } from "../export/parts";
import { DEFAULT_OPSET } from "../onnx/write-model";
import type { CliIo, TextOutput } from "./run";
import { bytes, count, names, size } from "./values";

interface Flags {
  output: string;
  parts: Part[];
  precision: ExportPrecision;
  batch?: number;
  frames?: number;
  size?: { width: number; height: number };
  dynamic?: FreeSizeName[];
  opset: number;
}

/** Shows the progress of an export: a bar where there is a terminal, else a line per tenth. */
function exportReporter(stderr: TextOutput): { report(progress: ExportProgress): void; end(): void } {
  const label = ({ part, stage }: ExportProgress) => `${part} ${stage}`;
  if (!stderr.isTTY) {
    let last = "";
    return {
      report(progress) {
        const { done, total } = progress;
        const line = `${label(progress)} ${Math.floor((10 * done) / Math.max(total, 1)) * 10} %`;
        if (line !== last) stderr.write(`${line}\n`);
        last = line;
      },
      end: () => undefined,
    };
  }
  const format = "{label} [{bar}] {percentage} %";
  const bar = new SingleBar({ format, stream: stderr as NodeJS.WriteStream, hideCursor: true, clearOnComplete: true });
  bar.start(1, 0, { label: "" });
  return {
    report: (progress) =>
      bar.update(progress.done / Math.max(progress.total, 1), { label: label(progress).padEnd(20) }),
    end: () => bar.stop(),
  };
}

async function run(source: string, flags: Flags, io: CliIo): Promise<void> {
  const { output, size: pixels, ...rest } = flags;
  const { dir } = await resolveModel(source, { dtype: flags.precision, signal: io.signal });
  const reporter = exportReporter(io.stderr);
  const start = performance.now();
  const options: ExportOptions = { ...rest, ...pixels, signal: io.signal, onProgress: reporter.report };
  try {
    const written = await exportModel(dir, output, options);
    reporter.end();
    for (const { path, numNodes, graphBytes, dataBytes } of written)
      io.stdout.write(`${path}: ${numNodes} nodes, ${bytes(graphBytes)}, weights ${bytes(dataBytes)}\n`);
  } finally {
    reporter.end();
  }
  const peakBytes = peakProcessBytes();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  io.stderr.write(`${seconds} s, at most ${bytes(peakBytes)} of memory, the mapped weights counted in\n`);
}

/** `vd-tensorrt export MODEL -o DIR`. */
export function exportCommand(io: CliIo): Command {
  return new Command("export")
    .description("writes a model as ONNX: PART.onnx with its weights in PART.onnx.data")
    .argument("<model>", "model folder, checkpoint in one .safetensors file, or org/name of the Hugging Face Hub")
    .requiredOption("-o, --output <dir>", "folder to write to")
    .option("--parts <names>", `of ${PARTS.join(", ")}`, names(PARTS), [...PARTS])
    .addOption(new Option("--precision <type>", "of weights and activations").choices(PRECISIONS).default("fp32"))
    .option("--batch <n>", "clips of a UNet call; 2 with guidance (default: 2)", count)
    .option("--frames <n>", "default: what the model was trained for", count)
    .option("--size <WxH>", "pixels; default: what the model was trained for", size)
    .option("--dynamic [sizes]", `sizes that stay free: all, or of ${FREE_SIZES.join(", ")}`, names(FREE_SIZES))
    .option("--opset <n>", "version of the operator set", count, DEFAULT_OPSET)
    .action((source: string, flags: Flags & { dynamic?: FreeSizeName[] | true }) =>
      run(source, { ...flags, ...(flags.dynamic === true ? { dynamic: [...FREE_SIZES] } : {}) } as Flags, io),
    );
}
