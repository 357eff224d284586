import type { Settings } from "../settings";
import { type Arguments, type RawValue, readArguments } from "./arguments";
import { readConfigFile } from "./config-file";
import { VALUE_OPTIONS } from "./table";
import { text } from "./values";

/** The outcome of reading the command line: a text to print, or checked settings. */
export type Parsed = { kind: "text"; text: string } | { kind: "settings"; settings: Settings };

/** Where the video goes when nothing is said. */
const DEFAULT_OUTPUT = "out.mp4";

/**
 * Reads and checks the command line and the config file it names; the command line wins.
 * @throws VdError `attr` for wrong usage, `io` for a config file that cannot be read.
 */
export async function parseArguments(argv: readonly string[], version: string): Promise<Parsed> {
  const typed: Arguments = readArguments(argv, version);
  if (typed.kind === "text") return typed;
  const config = typed.values.get("config");
  const fromFile = config ? await readConfigFile(text(String(config.text), config.where)) : new Map<string, RawValue>();
  return { kind: "settings", settings: settingsOf(new Map([...fromFile, ...typed.values])) };
}

/** Checks every raw value; throws VdError `attr` at the first that is wrong. */
function settingsOf(raw: ReadonlyMap<string, RawValue>): Settings {
  const value = <K extends keyof typeof VALUE_OPTIONS>(key: K) => {
    type Value = ReturnType<(typeof VALUE_OPTIONS)[K]["parse"]>;
    const entry = raw.get(key);
    if (entry === undefined) return undefined;
    return VALUE_OPTIONS[key].parse(String(entry.text), entry.where) as Value;
  };
  const isOn = (key: string) => raw.get(key)?.text === true;
  const image = raw.get("image");
  // A config file may say `true` or `false` here; only a text is a file name.
  const preview = raw.get("preview")?.text;
  return {
    image: image && text(String(image.text), image.where),
    output: value("output") ?? DEFAULT_OUTPUT,
    model: value("model"),
    numFrames: value("numFrames"),
    steps: value("steps"),
    size: value("size"),
    fps: value("fps"),
    motionBucketId: value("motionBucketId"),
    noiseAugStrength: value("noiseAugStrength"),
    guidanceRange: value("guidanceRange"),
    guidanceShape: value("guidanceShape"),
    sampler: value("sampler"),
    seed: value("seed"),
    device: value("device"),
    dtype: value("dtype"),
    decodeChunk: value("decodeChunk"),
    memory: value("memory"),
    threads: value("threads"),
    preview: typeof preview === "boolean" ? preview : (value("preview") ?? false),
    encoder: value("encoder") ?? "auto",
    profile: value("profile"),
    json: isOn("json"),
    quiet: isOn("quiet"),
    dryRun: isOn("dryRun"),
    overwrite: raw.get("overwrite")?.text !== false,
  };
}
