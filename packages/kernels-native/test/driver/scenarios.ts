// Run by driver.test.ts in a process whose NVIDIA driver is the stand-in: prints what happened as JSON.
import { severalDevices } from "./device-scenarios";
import { memoryUse } from "./memory-scenarios";
import { programRuns } from "./program-scenarios";
import { scenario } from "./support";

const scenarios = { ...programRuns, ...memoryUse, ...severalDevices };

console.log(JSON.stringify(await scenarios[scenario]!()));
process.exit(0);
