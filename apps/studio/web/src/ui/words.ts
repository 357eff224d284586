/** How quantities are said on the page. */

const SECONDS_A_MINUTE = 60;
const SECONDS_AN_HOUR = 3600;
const KIB = 1024;

/** Says a time to wait: `4 s`, `2 min 10 s`, `1 h 5 min`. */
export function durationWords(seconds: number): string {
  if (seconds < 1) return "under 1 s";
  const whole = Math.round(seconds);
  if (whole < SECONDS_A_MINUTE) return `${whole} s`;
  if (whole < SECONDS_AN_HOUR) {
    const rest = whole % SECONDS_A_MINUTE;
    return `${Math.floor(whole / SECONDS_A_MINUTE)} min${rest === 0 ? "" : ` ${rest} s`}`;
  }
  const minutes = Math.round((whole % SECONDS_AN_HOUR) / SECONDS_A_MINUTE);
  return `${Math.floor(whole / SECONDS_AN_HOUR)} h${minutes === 0 ? "" : ` ${minutes} min`}`;
}

/** Says an amount of memory: `480 MiB`, `3.2 GiB`. */
export function bytesWords(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(KIB))));
  const value = bytes / KIB ** power;
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
