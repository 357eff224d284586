import { Command } from "commander";
import { type Port, readModel } from "../onnx/read-model";
import type { CliIo } from "./run";

const shown = ({ name, type, axes }: Port) => `  ${name}: ${type}[${axes.join(", ")}]\n`;

/** `vd-tensorrt info FILE.onnx`. */
export function infoCommand(io: CliIo): Command {
  return new Command("info")
    .description("checks an exported model and says what it takes and gives")
    .argument("<file>", "an .onnx file")
    .action(async (file: string) => {
      const { opset, producer, inputs, outputs, numNodes, constants, ops, metadata, dataPaths } = await readModel(file);
      io.stdout.write(`${file}: opset ${opset}, ${numNodes} nodes, ${constants.size} constants, by ${producer}\n`);
      io.stdout.write(`inputs\n${inputs.map(shown).join("")}outputs\n${outputs.map(shown).join("")}`);
      const counted = Object.entries(ops).sort(([, a], [, b]) => b - a);
      io.stdout.write(`operations\n  ${counted.map(([name, count]) => `${name} ${count}`).join(", ")}\n`);
      for (const [key, value] of Object.entries(metadata)) io.stdout.write(`${key}: ${value}\n`);
      for (const path of dataPaths) io.stdout.write(`weights: ${path}\n`);
    });
}
