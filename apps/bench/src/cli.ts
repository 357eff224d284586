import { existsSync, readFileSync } from "node:fs";
import { main } from "./main";

const about = new URL("../package.json", import.meta.url);
const { version } = (existsSync(about) ? JSON.parse(readFileSync(about, "utf8")) : { version: "packed" }) as {
  version: string;
};

await main(process.argv.slice(2), version);
