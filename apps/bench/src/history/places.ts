import { join } from "node:path";
import type { MachineInfo } from "@vd/app-parts";

/** Folders of reports by the kind of device. */
const FOLDERS = { cuda: "gpu", cpu: "cpu" } as const;

/** The folder of all reports in a checkout. */
export const REPORTS = "reports";

/** The history of one kind of device in a folder of reports. */
export const historyPath = (reports: string, kind: MachineInfo["kind"]): string =>
  join(reports, FOLDERS[kind], "history.json");

/** The histories of all kinds of devices in a folder of reports. */
export const historyPaths = (reports: string): string[] =>
  (["cuda", "cpu"] as const).map((kind) => historyPath(reports, kind));
