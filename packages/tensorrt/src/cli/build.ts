import { Command, Option } from "commander";
import { ENGINE_PRECISIONS, type EnginePrecision, type Profile } from "../trt/command";
import { buildEngine } from "../trt/engine";
import { findTensorRt } from "../trt/find";
import type { CliIo } from "./run";
import { bytes, count, sizes } from "./values";

interface Flags {
  precision: EnginePrecision;
  min?: Profile["min"];
  opt?: Profile["opt"];
  max?: Profile["max"];
  calibration?: string;
  level?: number;
  workspace?: number;
  cache?: string;
  device?: string;
}

function profileOf({ min, opt, max }: Flags): Profile | undefined {
  const middle = opt ?? max ?? min;
  return middle && { min: min ?? middle, opt: middle, max: max ?? middle };
}

async function run(file: string, flags: Flags, io: CliIo): Promise<void> {
  const tensorRt = await findTensorRt();
  const { path, engineBytes, fromCache } = await buildEngine(file, {
    tensorRt,
    precision: flags.precision,
    profile: profileOf(flags),
    calibration: flags.calibration,
    optimizationLevel: flags.level,
    workspaceBytes: flags.workspace === undefined ? undefined : flags.workspace * 2 ** 20,
    cacheDir: flags.cache,
    deviceId: flags.device === undefined ? undefined : Number(flags.device),
    signal: io.signal,
    onProgress: ({ elapsedUs, message }) => io.stderr.write(`${(elapsedUs / 1e6).toFixed(0)} s ${message}\n`),
  });
  io.stdout.write(`${path}: ${bytes(engineBytes)}${fromCache ? ", built before" : ""}\n`);
}

/** `vd-tensorrt build FILE.onnx`. */
export function buildCommand(io: CliIo): Command {
  return new Command("build")
    .description("builds a TensorRT engine by trtexec, or finds it in the cache")
    .argument("<file>", "an exported .onnx file")
    .addOption(new Option("--precision <type>", "of the engine").choices(ENGINE_PRECISIONS).default("fp16"))
    .option("--min <sizes>", "smallest free sizes, e.g. batch=1,frames=14,height=40,width=64", sizes)
    .option("--opt <sizes>", "free sizes to be fast for", sizes)
    .option("--max <sizes>", "largest free sizes", sizes)
    .option("--calibration <file>", "ranges for int8, on TensorRT 10")
    .option("--level <n>", "optimisation level, 0 to 5", Number)
    .option("--workspace <MiB>", "most memory of a kernel beside its operands", count)
    .option("--cache <dir>", "folder of engines")
    .option("--device <n>", "which GPU")
    .action((file: string, flags: Flags) => run(file, flags, io));
}
