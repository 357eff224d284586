// Processor time, user and system, of what should be quick: it is the same on a busy machine, where elapsed time is not. Each is
// a fresh process of Node.js; they take turns.
//
//   npx -y pnpm@10.34.9 build && node tooling/measure/starts/main.mjs [--rounds N]
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../build/workspace.mjs";

const PICTURE = join(ROOT, "build/measure/picture-12000x8000.jpg");
const MEDIA = join(ROOT, "packages/media/package.json");
const LARGE = { width: 12_000, height: 8_000 };

/** A JPEG of a drawn scene with a sensor's noise, written once. */
async function writeLargePicture() {
  if (existsSync(PICTURE)) return;
  mkdirSync(join(PICTURE, ".."), { recursive: true });
  const sharp = createRequire(MEDIA)("sharp");
  const noise = { type: "gaussian", mean: 128, sigma: 12 };
  const grain = await sharp({ create: { ...LARGE, channels: 3, background: "#808080", noise } })
    .jpeg({ quality: 95 })
    .toBuffer();
  await sharp(join(ROOT, "models/tiny-svd/samples/two-balls-pinwheel.png"))
    .resize({ ...LARGE, fit: "fill" })
    .composite([{ input: grain, blend: "soft-light" }])
    .jpeg({ quality: 90 })
    .toFile(PICTURE);
}

const reads = (use) =>
  `import(${JSON.stringify(join(ROOT, "packages/media/dist/index.js"))}).then(({ loadImage }) => ${use})`;

/** What is timed, each beside what it is over. */
const CASES = [
  { name: "node, no program", words: ["-e", "0"] },
  { name: "vd-generate --help", words: [join(ROOT, "apps/generate/dist/cli.js"), "--help"], over: "node, no program" },
  { name: "@vd/media loaded", words: ["-e", reads("loadImage")] },
  {
    name: "JPEG of 12,000x8,000 read for 1024x576",
    words: ["-e", reads(`loadImage(${JSON.stringify(PICTURE)}, { width: 1024, height: 576 })`)],
    over: "@vd/media loaded",
  },
];

/** User and system milliseconds of one process. */
function processorMs(words) {
  const script = `TIMEFORMAT='%U %S'; time "$@" > /dev/null`;
  const { status, stderr } = spawnSync("bash", ["-c", script, "bash", process.execPath, ...words], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${stderr}`);
  const [user, system] = stderr.trim().split("\n").at(-1).split(" ").map(Number);
  return 1000 * (user + system);
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const { values } = parseArgs({ options: { rounds: { type: "string", default: "11" } } });
const rounds = Number(values.rounds);
await writeLargePicture();
const times = Object.fromEntries(CASES.map(({ name }) => [name, []]));
for (let round = 0; round < rounds; round++) for (const { name, words } of CASES) times[name].push(processorMs(words));

console.log("| process | median ms | least | most | over |\n| --- | --- | --- | --- | --- |");
for (const { name, over } of CASES) {
  const own = median(times[name]);
  const beyond = over ? `${(own - median(times[over])).toFixed(0)} ms over ${over}` : "";
  console.log(
    `| ${[name, own.toFixed(0), Math.min(...times[name]).toFixed(0), Math.max(...times[name]).toFixed(0), beyond].join(" | ")} |`,
  );
}
