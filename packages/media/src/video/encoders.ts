/** Every choice of what makes MP4 and WebM files, the default first. */
export const ENCODERS = ["auto", "builtin", "ffmpeg"] as const;

/** One of {@link ENCODERS}. */
export type EncoderChoice = (typeof ENCODERS)[number];
