// How the addon is compiled and linked for each target: by g++ for the machine itself, by a g++ for 64-bit Arm on others, by
// MinGW for Windows.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { packageDir } from "./sources.mjs";

/** Targets with prebuilt binaries. */
export const TARGETS = ["linux-x64", "linux-arm64", "win32-x64"];
export const HOST = `${process.platform}-${process.arch}`;

const MINGW = "x86_64-w64-mingw32";
const ARM64 = "aarch64-linux-gnu";
/** Version of Node-API that the addon asks for: Node 18.17, 20.3 and Electron 26 or newer have it. */
const NODE_API_VERSION = 9;

/** What a version script leaves visible: Node's entry points. Everything else, the C++ library included, stays private,
 *  so that it cannot mix with the one that node itself uses. */
const EXPORTS = "{ global: napi_register_module_v1; node_api_module_get_api_version_v1; local: *; };\n";

/** Warnings that the sources do not cause. Signs are left out: sizes and indices mix them without loss. */
const WARNINGS = [
  "-Wall",
  "-Wextra",
  "-Wno-cast-function-type",
  "-Wshadow",
  "-Wconversion",
  "-Wno-sign-conversion",
  "-Wold-style-cast",
  "-Wcast-qual",
  "-Wnon-virtual-dtor",
  "-Woverloaded-virtual",
];

/** What the code means, whatever the optimization. */
const COMMON_FLAGS = [
  "-std=c++20",
  "-fvisibility=hidden",
  "-ffunction-sections",
  "-fdata-sections",
  "-ffp-contract=off",
  "-fno-math-errno",
  `-DNAPI_VERSION=${NODE_API_VERSION}`,
  "-DNODE_ADDON_API_DISABLE_DEPRECATED",
  "-DNODE_ADDON_API_CPP_EXCEPTIONS",
  // Where a worker is being stopped, JavaScript takes no exception; node-addon-api would throw one through V8's frames.
  "-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
  "-DNODE_GYP_MODULE_NAME=vd_native",
  "-DBUILDING_NODE_EXTENSION",
];

/** Flags that every build has: language, warnings, definitions. With `VD_WARNINGS_AS_ERRORS=1` a warning fails the build, as
 *  CI asks for; other compilers warn of other things, so that users' builds go on. */
function commonFlags() {
  const strict = process.env.VD_WARNINGS_AS_ERRORS === "1" ? ["-Werror"] : [];
  return [...COMMON_FLAGS, ...WARNINGS, ...strict];
}

function run(program, words) {
  const result = spawnSync(program, words, { stdio: ["ignore", "inherit", "inherit"] });
  if (result.error) throw new Error(`${program}: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${program} ended with ${result.status}`);
}

/** Whether the C++ library can be linked into the addon, which the old glibc of other machines needs. Fedora has it in
 *  libstdc++-static; without it the build serves this machine only. */
function hasStaticLibrary(compiler) {
  const found = spawnSync(compiler, ["-print-file-name=libstdc++.a"], { encoding: "utf8" });
  return found.status === 0 && isAbsolute(found.stdout.trim());
}

/** The build for a machine with this kind of system. compiler: g++ or clang++; prefix: what the names of the tools beside it
 *  start with; portable: whether it is to serve other machines too; precompiles: whether the compiler takes headers that it has read
 *  before, as g++ does and what stands for it may not. */
function unix({ arch, compiler, prefix, install, portable, precompiles }) {
  const isPortable = portable && hasStaticLibrary(compiler);
  // On Arm, characters would be unsigned.
  const own = [...(arch === "arm64" ? ["-fsigned-char"] : []), ...(isPortable ? ["-DVD_GLIBC_COMPAT"] : [])];
  return {
    arch,
    compiler,
    install,
    precompiles,
    flags: [...commonFlags(), "-O3", "-fPIC", ...own],
    strip: `${prefix}strip`,
    nm: `${prefix}nm`,
    link(objects, output, workDir) {
      const script = join(workDir, "exports.map");
      writeFileSync(script, EXPORTS);
      const shape = ["-shared", `-Wl,--version-script=${script}`, "-Wl,-z,nodelete,-z,now,-z,relro,--gc-sections"];
      const unresolved = ["-Wl,-z,defs,--unresolved-symbols=ignore-all"];
      // Before 2.34 threads and dlopen were in libraries of their own; newer systems keep those names.
      const old = ["-Wl,--no-as-needed", "-l:libdl.so.2", "-l:libpthread.so.0", "-Wl,--as-needed"];
      const library = isPortable ? ["-static-libstdc++", ...old] : ["-lpthread"];
      run(compiler, [...shape, ...unresolved, "-o", output, ...objects, ...library]);
    },
  };
}

/** The build for the machine itself. */
function native() {
  const install = "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++) or set CXX.";
  const portable = HOST === "linux-x64" || HOST === "linux-arm64";
  const compiler = process.env.CXX ?? "g++";
  const precompiles = process.platform === "linux" && compiler === "g++";
  return unix({ arch: process.arch, compiler, prefix: "", install, portable, precompiles });
}

/** The build for 64-bit Arm on another machine. */
function crossArm64() {
  const install = `Install one (Debian, Ubuntu: .ci/install-arm64-tools as root, which needs g++-${ARM64}).`;
  const shared = { prefix: `${ARM64}-`, install, portable: true, precompiles: true };
  return unix({ arch: "arm64", compiler: `${ARM64}-g++`, ...shared });
}

/** Sanitizers by what they find together: memory errors and undefined behaviour, or data races. */
const SANITIZERS = { memory: "-fsanitize=address,undefined", races: "-fsanitize=thread" };

/** The build for this machine that reports errors of a kind, `memory` or `races`, and ends the process at the first. Its
 *  addon needs the sanitizers' libraries preloaded in Node; `program` links an executable that has them. No headers are precompiled, so that
 *  one that a source forgot to include is missed here. */
export function sanitizing(kind) {
  const compiler = process.env.CXX ?? "g++";
  const checks = [SANITIZERS[kind], "-fno-sanitize-recover=all"];
  return {
    arch: process.arch,
    compiler,
    flags: [...commonFlags(), ...checks, "-O1", "-g1", "-fno-omit-frame-pointer", "-fPIC"],
    link: (objects, output) => run(compiler, ["-shared", ...checks, "-o", output, ...objects, "-lpthread"]),
    program: (objects, output) => run(compiler, [...checks, "-o", output, ...objects, "-lpthread"]),
  };
}

/** node.exe's Node-API as a library that is bound when it is first called. Returns its folder's words for the linker. */
function windowsNodeLibrary(workDir) {
  const { symbols } = createRequire(join(packageDir, "package.json"))("node-api-headers");
  const { js_native_api_symbols: engine, node_api_symbols: node } = symbols[`v${NODE_API_VERSION}`];
  const names = [...new Set([...engine, ...node])].sort();
  const definition = join(workDir, "node.def");
  writeFileSync(definition, `NAME NODE.EXE\nEXPORTS\n${names.join("\n")}\n`);
  run(`${MINGW}-dlltool`, ["-d", definition, "-D", "node.exe", "-y", join(workDir, "libnode_delay.a")]);
  return [`-L${workDir}`, "-lnode_delay", "-ldelayimp"];
}

/** The build for Windows on any system that has MinGW. */
function windows() {
  const compiler = `${MINGW}-g++-posix`;
  return {
    arch: "x64",
    compiler,
    precompiles: true,
    install: "Install MinGW (Debian, Ubuntu: apt-get install g++-mingw-w64-x86-64-posix mingw-w64-tools).",
    // Windows 10. The stack is aligned to 16 bytes only, so that spilled AVX registers must be moved as unaligned.
    flags: [...commonFlags(), "-O3", "-D_WIN32_WINNT=0x0A00", "-DNOMINMAX", "-Wa,-muse-unaligned-vector-move"],
    strip: `${MINGW}-strip`,
    link(objects, output, workDir) {
      const shape = ["-shared", "-static", "-Wl,--exclude-all-symbols,--nxcompat,--dynamicbase,--high-entropy-va"];
      run(compiler, [...shape, "-o", output, ...objects, ...windowsNodeLibrary(workDir)]);
    },
  };
}

/** Compiler, flags and linker of a target. Throws for one that this machine cannot build. */
export function toolchain(target) {
  if (target === "win32-x64" && HOST !== "win32-x64") return windows();
  if (target === HOST) return native();
  if (target === "linux-arm64") return crossArm64();
  const known = [...new Set([HOST, "linux-arm64", "win32-x64"])];
  throw new Error(`expected one of ${known.join(", ")} on this machine, got ${target}`);
}

/** A sentence about the compiler that is missing, or undefined where it is there. */
export function missingCompiler({ compiler, install }) {
  const probe = spawnSync(compiler, ["--version"], { encoding: "utf8" });
  if (probe.status === 0) return undefined;
  return `expected a C++20 compiler named ${compiler}, got ${probe.error?.code ?? `exit ${probe.status}`}. ${install}`;
}

/** First line of the compiler's name and version. */
export function compilerVersion({ compiler }) {
  const probe = spawnSync(compiler, ["--version"], { encoding: "utf8" });
  return probe.status === 0 ? probe.stdout.split("\n")[0].trim() : "unknown";
}
