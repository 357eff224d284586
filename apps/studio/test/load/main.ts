import { parseArgs } from "node:util";
import { temporaryFolder } from "../support/harness";
import { spawnProgram } from "../support/spawn-program";
import { measureLoad } from "./load";

// node --import tsx apps/studio/test/load/main.ts [--seconds 120] [--listeners 500] [--submitters 50] [--workers 2]
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    listeners: { type: "string", default: "500" },
    submitters: { type: "string", default: "50" },
    workers: { type: "string", default: "2" },
  },
});
const { folder, remove } = temporaryFolder();
const words = ["--no-open", "--port", "0", "--data", folder, "--workers", values.workers, "--drain-seconds", "5"];
const server = await spawnProgram(...words);
const [seconds, listeners, submitters] = [values.seconds, values.listeners, values.submitters].map(Number) as [
  number,
  number,
  number,
];
console.log(JSON.stringify(await measureLoad({ url: server.line, folder, seconds, listeners, submitters }), null, 2));
await server.end("SIGTERM");
remove();
