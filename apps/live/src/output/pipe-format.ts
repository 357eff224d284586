/** What a pipe gets, the default first. */
export const PIPE_FORMATS = ["y4m", "rgb"] as const;

/** One of {@link PIPE_FORMATS}. */
export type PipeFormat = (typeof PIPE_FORMATS)[number];
