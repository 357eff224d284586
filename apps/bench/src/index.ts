/** What programs beside vd-bench need to measure as it does. */

export { type MachineInfo, machineInfo } from "./io/machine";
export { encodePlainPng, readPicture, testPicture } from "./io/pictures";
export { type Dependencies, run as runBench } from "./run";
