import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findTensorRt, type SearchOptions, type TensorRt } from "../../src/index";
import { temporaryFolder } from "./temporary-folder";

const PROGRAM = fileURLToPath(new URL("./stand-in-trtexec.mjs", import.meta.url));

/** What the stand-in pretends; see stand-in-trtexec.mjs. */
export interface Behaviour {
  banner?: string;
  fail?: string;
  hang?: boolean;
  noEngine?: boolean;
  silent?: boolean;
  sampleDims?: readonly number[];
}

/** A folder with a stand-in for trtexec. */
export interface FakeTrt {
  readonly home: string;
  readonly search: SearchOptions;
  behave(behaviour: Behaviour): void;
  /** The arguments of every call but those for help. */
  calls(): string[][];
  find(): Promise<TensorRt>;
}

/** Where nothing is found but what a test puts in. */
export const nowhere = (folders: Partial<NonNullable<SearchOptions["folders"]>> = {}): SearchOptions => ({
  folders: { tensorRtHome: "", path: "", libraryPath: "", pythonPrefix: "", ...folders },
  systemFolders: [],
  pythonPrefixes: [],
});

/** Installs the stand-in in a folder of its own, as TENSORRT_HOME. */
export function fakeTrt(behaviour: Behaviour = {}): FakeTrt {
  const home = temporaryFolder();
  const bin = join(home, "bin");
  mkdirSync(bin);
  copyFileSync(PROGRAM, join(bin, "program.mjs"));
  writeFileSync(join(bin, "trtexec"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "program.mjs")}" "$@"\n`);
  chmodSync(join(bin, "trtexec"), 0o755);
  const behave = (wanted: Behaviour) => writeFileSync(join(bin, "behaviour.json"), JSON.stringify(wanted));
  behave(behaviour);
  const search = nowhere({ tensorRtHome: home });
  const log = join(bin, "calls.jsonl");
  return {
    home,
    search,
    behave,
    calls: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
        : [],
    find: () => findTensorRt(search),
  };
}
