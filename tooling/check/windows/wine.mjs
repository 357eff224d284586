// A Windows of our own under Wine, and programs run in it.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "../../build/workspace.mjs";
import { run } from "../packages/packages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
/** Everything that the checks keep between runs. */
export const BUILD = join(ROOT, "build/windows");
const PREFIX = join(BUILD, "prefix");
export const SYSTEM_DIR = join(PREFIX, "drive_c/windows/system32");
const MINGW = "x86_64-w64-mingw32-gcc-posix";
const INSTALL = "Debian, Ubuntu: .ci/install-windows-tools as root";

/** C11's function that Windows' C library lacks. */
const WITHOUT = ["-Daligned_alloc(alignment,bytes)=_aligned_malloc(bytes,alignment)"];

const runs = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

/** Why programs for Windows cannot be tried here, as a sentence; undefined where they can. */
export function whyNoWine() {
  if (process.platform !== "linux") return "Wine is used on Linux only";
  const missing = ["wine", MINGW].filter((program) => !runs(program));
  return missing.length > 0 ? `${missing.join(" and ")} not found (${INSTALL})` : undefined;
}

/** Paths that are no ASCII have a meaning in a locale of UTF-8 alone, which an empty environment lacks. */
const environment = (extra) => ({
  ...process.env,
  LC_ALL: "C.UTF-8",
  WINEPREFIX: PREFIX,
  WINEDEBUG: "-all",
  DISPLAY: "",
  ...extra,
});

/** A C file as a DLL in Windows' own folder. */
export function installDll(source, name) {
  run(MINGW, ["-shared", "-O1", "-w", "-s", ...WITHOUT, source, "-o", join(SYSTEM_DIR, name), "-ladvapi32", "-static"]);
}

/** Removes a DLL again. */
export const removeDll = (name) => rmSync(join(SYSTEM_DIR, name), { force: true });

/** Makes the Windows unless it is there: version 10, with what newer Windows has and Wine lacks. */
export function prepareWindows() {
  if (!existsSync(join(PREFIX, "system.reg"))) {
    mkdirSync(BUILD, { recursive: true });
    run("wine", ["winecfg", "-v", "win10"], { env: environment(), stdio: ["ignore", "ignore", "ignore"] });
  }
  const dll = "bcryptprimitives.dll";
  if (!existsSync(join(SYSTEM_DIR, dll))) installDll(join(here, "bcryptprimitives.c"), dll);
}

/** Runs a Windows program in `cwd`. Its output goes through files: node.exe cannot use the pipes that Wine gives it. */
export function runInWindows(program, words, { cwd, env = {}, timeout = 480_000 }) {
  const paths = ["stdout", "stderr"].map((name) => join(BUILD, `${process.pid}.${name}.txt`));
  const files = paths.map((path) => openSync(path, "w"));
  try {
    const stdio = ["ignore", ...files];
    const { status, signal, error } = spawnSync("wine", [program, ...words], {
      cwd,
      env: environment(env),
      stdio,
      timeout,
    });
    const [stdout, stderr] = paths.map((path) => readFileSync(path, "utf8"));
    return { status: status ?? signal ?? error?.message, stdout, stderr };
  } finally {
    for (const file of files) closeSync(file);
    for (const path of paths) rmSync(path, { force: true });
  }
}
