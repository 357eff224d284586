import { isVdError } from "@vd/kernels-native";
import { Command } from "commander";
import { listProviders, loadOrt } from "../ort/runtime";
import { currentGpu } from "../trt/engine";
import { findTensorRt } from "../trt/find";
import type { CliIo } from "./run";

async function line(name: string, find: () => Promise<string> | string): Promise<string> {
  try {
    return `${name}: ${await find()}\n`;
  } catch (error) {
    if (isVdError(error)) return `${name}: missing. ${error.message}\n`;
    throw error;
  }
}

/** `vd-tensorrt doctor`: what this machine has of everything that the package can use. */
export function doctorCommand(io: CliIo): Command {
  return new Command("doctor").description("says what is installed: ONNX Runtime, TensorRT, a GPU").action(async () => {
    io.stdout.write(await line("ONNX Runtime", () => `providers ${listProviders(loadOrt()).join(", ")}`));
    io.stdout.write(
      await line("TensorRT", async () => {
        const { trtexec, version, library } = await findTensorRt();
        return `${version.join(".")}, ${trtexec}${library ? `, ${library}` : ""}`;
      }),
    );
    io.stdout.write(
      await line("GPU", async () => {
        const { name, computeCapability } = await currentGpu();
        return `${name}, compute capability ${computeCapability}`;
      }),
    );
  });
}
