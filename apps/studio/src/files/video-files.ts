import type { VideoResult } from "../videos/record";

/** A file to send: one of this machine, or a link to where it is. */
export type FileAnswer = { kind: "file"; folder: string; name: string } | { kind: "link"; url: string };

/** How a file is sent. */
export interface FileHeaders {
  mediaType: string;
  /** The name to save it under. */
  fileName: string;
  /** True where it is to be saved and not to be shown. */
  isSaved: boolean;
}

/** Returns the value of `content-disposition`. */
export const dispositionOf = ({ fileName, isSaved }: FileHeaders): string =>
  `${isSaved ? "attachment" : "inline"}; filename="${fileName}"`;

/** Folders that one attempt at a video works in. */
export interface WorkFolders {
  /** Path of the picture. */
  picture: string;
  /** Empty, for the files. */
  output: string;
  /** Finished steps. */
  steps: string;
}

/** Where pictures and finished videos lie. */
export interface VideoFiles {
  /** Of the server that links lead to, `https://HOST`; undefined where files are sent by this one. */
  readonly origin?: string | undefined;
  /** Keeps a video's picture. */
  putPicture(id: string, bytes: Uint8Array, mediaType: string): Promise<void>;
  /** Makes the folders of an attempt, on this machine. */
  begin(id: string, attempt: number): Promise<WorkFolders>;
  /** Makes the files of an attempt those of the video, all at once; where that has happened before, nothing changes. */
  commit(id: string, output: string, result: VideoResult): Promise<VideoResult>;
  /** Deletes what an attempt that broke off has left; finished steps stay. */
  discard(id: string, output: string): Promise<void>;
  /** Deletes everything of a video that has ended but its picture and its files. */
  tidy(id: string): Promise<void>;
  /** Returns what was committed for a video; undefined where nothing was. */
  committed(id: string): Promise<VideoResult | undefined>;
  /** Finds a file, undefined where there is none. headers: what a link answers with. */
  find(id: string, name: string, headers: FileHeaders): Promise<FileAnswer | undefined>;
  /** Reads a file; undefined where there is none. */
  read(id: string, name: string): Promise<Uint8Array | undefined>;
  /** Deletes everything of a video. */
  remove(id: string): Promise<void>;
}

/** The file that says what was committed; it is there when all others are. */
export const RESULT_FILE = "result.json";
