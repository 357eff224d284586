import { homedir } from "node:os";
import { join } from "node:path";

/** Where exported models and engines are kept unless a folder is given. */
export const defaultCacheDir = (): string => join(homedir(), ".cache", "vd-tensorrt");
