import { oneOfThese } from "@vd/kernels-native";
import { framedComment } from "../video/comment";
import type { VideoFrames } from "../video/video-frames";
import { BT601, BT709, type LumaWeights } from "../video/yuv";

const FFMPEG_FORMATS = ["mp4", "webm"] as const;

/** The formats that FFmpeg writes for us. */
export type FfmpegFormat = (typeof FFMPEG_FORMATS)[number];

/** What a {@link FfmpegFormat} must be. */
export const FFMPEG_FORMAT = oneOfThese(FFMPEG_FORMATS);

/** What FFmpeg runs as: a program of the machine, or WebAssembly in this process. */
export type FfmpegKind = "program" | "wasm";

/** An encoder of FFmpeg. */
interface Encoder {
  /** As `ffmpeg -encoders` lists it. */
  name: string;
  settings: readonly string[];
  /** How it takes colours. */
  colours: Colours;
}

/** The weights of luma, and FFmpeg's name of them. */
interface Colours {
  weights: LumaWeights;
  space: string;
}

const HD: Colours = { weights: BT709, space: "bt709" };
/** The only one that VP8 has. Source: RFC 6386, section 9.2. */
const SD: Colours = { weights: BT601, space: "smpte170m" };

/**
 * Encoder and settings, all where their encoders' own guides put "visually lossless". In WebAssembly x264's `faster` takes
 * half the time of `medium` for 3 % more bytes at equal PSNR; VP9 is not used there, since it fails with most videos
 * (https://github.com/ffmpegwasm/ffmpeg.wasm/issues/679). Measurements: docs/dependencies.md.
 */
const ENCODERS: Readonly<Record<FfmpegKind, Readonly<Record<FfmpegFormat, Encoder>>>> = {
  program: {
    mp4: { name: "libx264", settings: ["-crf", "16", "-preset", "medium", "-movflags", "+faststart"], colours: HD },
    webm: { name: "libvpx-vp9", settings: ["-crf", "20", "-b:v", "0", "-cpu-used", "2", "-row-mt", "1"], colours: HD },
  },
  wasm: {
    mp4: { name: "libx264", settings: ["-crf", "16", "-preset", "faster", "-movflags", "+faststart"], colours: HD },
    // VP8 keeps to a quality only below a bit rate: one that is never reached.
    webm: {
      name: "libvpx",
      settings: ["-crf", "6", "-b:v", "100M", "-cpu-used", "2", "-lag-in-frames", "16"],
      colours: SD,
    },
  },
};

/** Returns FFmpeg's name of the encoder that makes a format. */
export const encoderName = (kind: FfmpegKind, format: FfmpegFormat): string => ENCODERS[kind][format].name;

/** Returns the weights of luma that the encoder of a format takes. */
export const lumaWeights = (kind: FfmpegKind, format: FfmpegFormat): LumaWeights =>
  ENCODERS[kind][format].colours.weights;

/** A player seeks to key frames only; more than this apart is felt. */
const KEY_FRAMES = ["-g", "48"];

/** Colour tags, which FFmpeg writes into the bitstream, where it has a place for them, and into the container. */
const tagsOf = ({ space }: Colours): string[] => {
  const primaries = ["-color_primaries", "bt709", "-color_trc", "bt709"];
  return [...primaries, "-colorspace", space, "-color_range", "tv"];
};

/** Returns FFmpeg's arguments to encode raw I420 frames from `input` into the file `output`, without dates and versions: the
 *  same frames give the same bytes. */
export function encodingArguments(
  kind: FfmpegKind,
  format: FfmpegFormat,
  { width, height, fps }: Pick<VideoFrames, "width" | "height" | "fps">,
  { input, output, comment }: { input: string; output: string; comment?: string | undefined },
): string[] {
  const { name, settings, colours } = ENCODERS[kind][format];
  const size = ["-s", `${width}x${height}`];
  const source = ["-f", "rawvideo", "-pix_fmt", "yuv420p", ...size, "-r", String(fps), "-i", input];
  const result = ["-c:v", name, "-pix_fmt", "yuv420p", ...settings, ...KEY_FRAMES, ...tagsOf(colours)];
  const metadata = comment === undefined ? [] : ["-metadata", `comment=${framedComment(comment)}`];
  const general = ["-hide_banner", "-v", "error", "-nostdin", "-y"];
  return [...general, ...source, ...result, "-fflags", "+bitexact", ...metadata, "-f", format, output];
}
