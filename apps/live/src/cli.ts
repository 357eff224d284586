import { readFileSync } from "node:fs";
import { main } from "./main";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

await main(process.argv.slice(2), version, new URL("page.html", import.meta.url));
