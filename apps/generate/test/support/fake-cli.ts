/** The command as a process of its own, with the fake pipeline: `fake-cli.ts STEP_MS ARGUMENTS...` */
import { main } from "../../src/main";
import { fakeFactory } from "./fake-pipeline";

const [stepMs, ...argv] = process.argv.slice(2);
await main(fakeFactory({ stepMs: Number(stepMs) }), argv, "0.0.0");
