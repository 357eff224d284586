/** What the bundled model's autoencoder leaves of pictures of its own world and of others, as a table: from it comes the limit
 *  below which `vd-generate` warns that a picture is unlike that world.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/foreign/main.ts --world PATH ... [--foreign PATH ...]
 *    [--each]
 *
 *  A path is a picture, or a folder whose pictures count. Strips of square frames, as wide as several of them, and
 *  animations count frame by frame. `--each` prints every picture's value, the lowest first. */
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { loadImage, type RgbImage, readAnimation } from "@vd/media";
import { reconstructionSnr, SvdAutoencoder } from "@vd/vae-opt";

const MODEL = "models/tiny-svd";
const LIMITS_DB = [11, 12, 13, 14, 15];
const STRIP_FRAMES = 4;
const PICTURE = /\.(png|jpe?g|webp|avif|gif|tiff?|bmp)$/i;
const ANIMATION = /\.(gif|webp)$/i;

interface Measured {
  name: string;
  snr: number;
}

function picturesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => PICTURE.test(name))
    .sort()
    .map((name) => join(path, name));
}

/** The square frames of a strip, or the picture itself. */
function* framesOf(picture: RgbImage): Generator<RgbImage> {
  const { width, height, data } = picture;
  const numFrames = width / height;
  if (numFrames < STRIP_FRAMES || !Number.isInteger(numFrames)) {
    yield picture;
    return;
  }
  for (let frame = 0; frame < numFrames; frame++) {
    const square = new Uint8Array(3 * height * height);
    for (let y = 0; y < height; y++) {
      const from = 3 * (y * width + frame * height);
      square.set(data.subarray(from, from + 3 * height), 3 * y * height);
    }
    yield { width: height, height, data: square };
  }
}

async function* readPictures(path: string): AsyncGenerator<RgbImage> {
  if (ANIMATION.test(path)) yield* readAnimation(path);
  else yield* framesOf(await loadImage(path));
}

async function measure(vae: SvdAutoencoder, paths: readonly string[]): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const path of paths.flatMap(picturesBelow)) {
    let index = 0;
    try {
      for await (const picture of readPictures(path))
        measured.push({ name: `${basename(path)} ${index++}`, snr: await reconstructionSnr(vae, picture) });
    } catch (error) {
      console.error(`left out: ${path}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return measured.sort((a, b) => a.snr - b.snr);
}

/** The value that a share of the sorted values lies below. */
const quantile = (sorted: readonly Measured[], share: number) => sorted[Math.round(share * (sorted.length - 1))]!.snr;

function tableRow(title: string, measured: readonly Measured[]): string {
  const below = LIMITS_DB.map((limit) => measured.filter(({ snr }) => snr < limit).length);
  const spread = [0, 0.05, 0.5, 0.95, 1].map((share) => quantile(measured, share).toFixed(1)).join(" / ");
  return `| ${[title, measured.length, spread, ...below].join(" | ")} |`;
}

const { values } = parseArgs({
  options: {
    world: { type: "string", multiple: true, default: [] },
    foreign: { type: "string", multiple: true, default: [] },
    each: { type: "boolean", default: false },
  },
});
const vae = await SvdAutoencoder.fromPretrained(MODEL);
console.log(
  `| pictures | number | dB: least / 5 % / median / 95 % / most | ${LIMITS_DB.map((limit) => `below ${limit}`).join(" | ")} |`,
);
console.log(`|${" --- |".repeat(3 + LIMITS_DB.length)}`);
for (const [kind, paths] of [
  ["world", values.world],
  ["foreign", values.foreign],
] as const) {
  for (const path of paths) {
    const measured = await measure(vae, [path]);
    if (measured.length === 0) continue;
    console.log(tableRow(`${kind}: ${basename(path)}`, measured));
    if (values.each) for (const { name, snr } of measured) console.log(`  ${snr.toFixed(2)}  ${name}`);
  }
}
await vae.close();
