import { readFileSync } from "node:fs";
import { main } from "./main";
import { pipelineFactory } from "./model/factory";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

await main(pipelineFactory, process.argv.slice(2), version);
