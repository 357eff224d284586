import { VdError } from "./errors";

/** What decides whether the addon can be loaded. */
export interface Host {
  platform: string;
  arch: string;
  /** Of Node.js, e.g. "20.19.0". */
  nodeVersion: string;
  /** The C library's version on Linux with glibc; undefined elsewhere. */
  glibcVersion: string | undefined;
  /** Where the prebuilt binary should be. */
  prebuild: string;
  /** Whether the folder is there. */
  hasPrebuild: boolean;
}

/** Oldest Node.js that the packages support. */
const LEAST_NODE = "20.19.0";
/** Oldest glibc that the binary runs on; tooling/check/packages/glibc-floor.mjs holds it to that. */
const LEAST_GLIBC = "2.28";
const WHERE = "@vd/kernels-native";
const SYSTEMS = "Linux with glibc 2.28 or newer on x64 or arm64, or Windows 10 or newer on x64";
/** The systems with prebuilt binaries. */
const TARGETS: readonly string[] = ["linux-x64", "linux-arm64", "win32-x64"];
const BUILD = "In a checkout `pnpm build` compiles it for this machine; that needs g++.";

/** Negative, zero or positive as version `a` is older than, the same as or newer than `b`. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < 3; i++) if (left![i] !== right![i]) return (left![i] ?? 0) - (right![i] ?? 0);
  return 0;
}

/** The error for a Node.js that is too old, or undefined. */
export function nodeProblem({ nodeVersion }: Pick<Host, "nodeVersion">): VdError | undefined {
  if (compareVersions(nodeVersion, LEAST_NODE) >= 0) return undefined;
  const expected = "Node.js 20.19 or newer";
  return new VdError({
    code: "unsupported",
    where: WHERE,
    expected,
    got: `Node.js ${nodeVersion}`,
    hint: "Install a newer one from https://nodejs.org.",
  });
}

interface Verdict {
  expected: string;
  got: string;
  hint: string;
}

/** Verdicts by what the system says of a binary that does not load. */
const MESSAGES: readonly { pattern: RegExp; verdict: (found: RegExpExecArray, host: Host) => Verdict }[] = [
  {
    pattern: /version [`'](GLIBC_[\d.]+)' not found/,
    verdict: ([, version], { glibcVersion }) => ({
      expected: `glibc ${LEAST_GLIBC} or newer`,
      got: `glibc ${glibcVersion ?? "of an unknown version"}, which lacks ${version}`,
      hint: `Use a newer distribution (Debian 10, Ubuntu 20.04, RHEL 8 or later). ${BUILD}`,
    }),
  },
  {
    pattern: /failed to map segment|Operation not permitted|cannot enable executable stack/i,
    verdict: (_, { prebuild }) => ({
      expected: "a file system that allows programs to run",
      got: `one that does not, for ${prebuild}`,
      hint: "It may be mounted with noexec: install the packages in another folder, or mount it without that option.",
    }),
  },
  {
    pattern: /Permission denied|EACCES|Access is denied|being used by another process/i,
    verdict: (_, { prebuild }) => ({
      expected: `permission to read ${prebuild}`,
      got: "a refusal of the system",
      hint: "Give this user read access to the folder of the packages, or allow the file in the virus scanner.",
    }),
  },
];

function permissionVerdict(code: string | undefined, { prebuild }: Host): Verdict | undefined {
  if (code !== "ERR_DLOPEN_DISABLED" && code !== "ERR_ACCESS_DENIED") return undefined;
  return {
    expected: "permission to load native code",
    got: "a Node.js that runs with its permission model, which forbids that",
    hint: `Add --allow-addons and --allow-fs-read for the folder of the packages (${prebuild}), --allow-worker for threads.`,
  };
}

/** What is missing on a system without a binary of its own. */
function systemVerdict({ platform, arch, glibcVersion, prebuild, hasPrebuild }: Host): Verdict | undefined {
  const target = `${platform}-${arch}`;
  if (platform === "linux" && glibcVersion === undefined)
    return {
      expected: SYSTEMS,
      got: `Linux with musl (Alpine) on ${arch}`,
      hint: `Use an image with glibc, such as node:22-slim. ${BUILD}`,
    };
  if (hasPrebuild) return undefined;
  const rosetta = platform === "darwin" ? " macOS has no prebuilt binary." : "";
  if (!TARGETS.includes(target))
    return { expected: SYSTEMS, got: target, hint: `There is no prebuilt binary for it.${rosetta} ${BUILD}` };
  return { expected: `a native addon in ${prebuild}`, got: "none", hint: `Install the package again. ${BUILD}` };
}

/** The error for an addon that did not load: a sentence about what this machine lacks and what to do. cause: what
 *  loading threw. */
export function loadProblem(host: Host, cause: unknown): VdError {
  const { message, code } = cause as NodeJS.ErrnoException;
  const matched = MESSAGES.map(({ pattern, verdict }) => ({ found: pattern.exec(message), verdict })).find(
    (m) => m.found,
  );
  const verdict = permissionVerdict(code, host) ??
    systemVerdict(host) ??
    matched?.verdict(matched.found!, host) ?? {
      expected: `a native addon that loads from ${host.prebuild}`,
      got: message,
      hint: `Install the package again. ${BUILD}`,
    };
  return new VdError({ code: "unsupported", where: WHERE, ...verdict, cause });
}
