// Run by cupti.test.ts in a process that finds a stand-in for CUPTI, or none.
import { cupti } from "../../src/index";

const reason = cupti.start();
const again = cupti.start();
const first = cupti.take();
const ranges = cupti.takeRanges();
cupti.stop();
const [rest, last] = [cupti.take(), cupti.take()];
process.stdout.write(JSON.stringify({ reason, again, first, ranges, rest, last }));
