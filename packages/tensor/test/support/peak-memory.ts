import { peakProcessBytes } from "../../src/process-memory";

console.log(peakProcessBytes());
