/** How quantities are said on the page. */

const SECONDS_A_MINUTE = 60;
const SECONDS_AN_HOUR = 3600;
const SECONDS_A_DAY = 86_400;
const KIB = 1024;
/** Up to here hours are said, from here on days. */
const MAX_HOURS = 48;

/** Says a time to wait: `4 s`, `2 min 10 s`, `1 h 5 min`, `3 days`. */
export function durationWords(seconds: number): string {
  if (seconds < 1) return "under 1 s";
  if (seconds >= MAX_HOURS * SECONDS_AN_HOUR)
    return `${Math.round(seconds / SECONDS_A_DAY).toLocaleString("en-GB")} days`;
  // Rounded once, so that no unit is ever full.
  const whole =
    seconds < SECONDS_AN_HOUR ? Math.round(seconds) : SECONDS_A_MINUTE * Math.round(seconds / SECONDS_A_MINUTE);
  const [hours, minutes] = [
    Math.floor(whole / SECONDS_AN_HOUR),
    Math.floor((whole % SECONDS_AN_HOUR) / SECONDS_A_MINUTE),
  ];
  const parts = [
    [hours, "h"],
    [minutes, "min"],
    [whole % SECONDS_A_MINUTE, "s"],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

/** Says a message of the library as a sentence: without the part of it that complains, which is for programs. */
export function plainSentence(message: string): string {
  const words = message.replace(/^\[[^\]]*\] /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Says an amount of memory: `480 MiB`, `3.2 GiB`. */
export function bytesWords(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, power] = [bytes, 0];
  // What would be rounded to 1024 of a unit is 1 of the next.
  while (Math.round(value) >= KIB && power < units.length - 1) {
    value /= KIB;
    power++;
  }
  return `${value < 10 && power > 2 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** Says when something was: `just now`, `5 min ago`, `today, 14:03`, `12 Nov, 14:03`. now: milliseconds since 1970. */
export function whenWords(seconds: number, now = Date.now()): string {
  const ago = now / 1000 - seconds;
  if (ago < SECONDS_A_MINUTE) return "just now";
  if (ago < SECONDS_AN_HOUR) return `${Math.floor(ago / SECONDS_A_MINUTE)} min ago`;
  const then = new Date(seconds * 1000);
  const time = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const isToday = then.toDateString() === new Date(now).toDateString();
  return `${isToday ? "today" : then.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${time}`;
}

/** Names that people would not guess at. */
const KNOWN_NAMES: Readonly<Record<string, string>> = {
  numFrames: "Frames",
  fps: "Frames a second",
  motionBucketId: "Motion",
  noiseAugStrength: "Noise on the picture",
  minGuidance: "Guidance, first frame",
  maxGuidance: "Guidance, most",
  guidance: "Shape of guidance",
  autoSize: "Size from the picture",
  decodeChunk: "Frames decoded at a time",
  isolateDecodeChunks: "Chunks decoded apart",
};

/** Says an option's name in words; one that is not known is its own: `stepNoise` is `Step noise`. */
export function nameWords(name: string): string {
  const known = KNOWN_NAMES[name];
  if (known !== undefined) return known;
  const words = name.replaceAll(/[_-]/g, " ").replaceAll(/([a-z0-9])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
