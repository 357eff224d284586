import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { main } from "./main";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

await main(process.argv.slice(2), version, (name) => fileURLToPath(new URL(name, import.meta.url)));
