import { readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, statIfThere, systemCode, writeSynced, writeWholeFile } from "@vd/tensor";
import type { VideoResult } from "../videos/record";
import { PICTURE_FILE } from "../videos/variants";
import { isVideoId } from "../videos/video-id";
import { type FileAnswer, RESULT_FILE, type VideoFiles, type WorkFolders } from "./video-files";

const RESULT = "result";
const STEPS = "steps";

/** Files in a folder, which may be one that many machines share: `ID/picture`, `ID/result/…`, and while a video is made `ID/steps` and
 *  `ID/attempt-N`. */
export class FolderFiles implements VideoFiles {
  constructor(private readonly folder: string) {}

  async putPicture(id: string, bytes: Uint8Array): Promise<void> {
    await makeFolder(this.of(id));
    await writeWholeFile(join(this.of(id), PICTURE_FILE), bytes, { where: "picture", overwrite: true });
  }

  async begin(id: string, attempt: number): Promise<WorkFolders> {
    const output = join(this.of(id), `attempt-${attempt}`);
    await rm(output, { recursive: true, force: true });
    await makeFolder(output);
    return { picture: join(this.of(id), PICTURE_FILE), output, steps: join(this.of(id), STEPS) };
  }

  async commit(id: string, output: string, result: VideoResult): Promise<VideoResult> {
    await writeSynced(join(output, RESULT_FILE), JSON.stringify(result));
    try {
      // A folder appears under its name with all that is in it, or not at all.
      await rename(output, join(this.of(id), RESULT));
      return result;
    } catch (error) {
      const earlier = await this.committed(id);
      if (earlier === undefined) throw error;
      return earlier;
    }
  }

  async discard(_: string, output: string): Promise<void> {
    await rm(output, { recursive: true, force: true });
  }

  async tidy(id: string): Promise<void> {
    const names = await readdir(this.of(id)).catch(() => []);
    for (const name of names)
      if (name !== PICTURE_FILE && name !== RESULT) await rm(join(this.of(id), name), { recursive: true, force: true });
  }

  async committed(id: string): Promise<VideoResult | undefined> {
    const bytes = await this.read(id, RESULT_FILE);
    return bytes && (JSON.parse(Buffer.from(bytes).toString()) as VideoResult);
  }

  async find(id: string, name: string): Promise<FileAnswer | undefined> {
    const path = this.pathOf(id, name);
    const found = await statIfThere(path);
    if (!found?.isFile()) return undefined;
    return { kind: "file", folder: dirname(path), name };
  }

  async read(id: string, name: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(this.pathOf(id, name));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.of(id), { recursive: true, force: true });
  }

  /** Deletes what was left when the process ended: folders of videos that nobody knows, and attempts at those that have ended. */
  async tidyAll(standing: (id: string) => "unknown" | "ended" | "open"): Promise<void> {
    await makeFolder(this.folder);
    for (const name of (await readdir(this.folder)).filter(isVideoId)) {
      const found = standing(name);
      if (found === "unknown") await this.remove(name);
      else if (found === "ended") await this.tidy(name);
    }
  }

  private of(id: string): string {
    return join(this.folder, id);
  }

  private pathOf(id: string, name: string): string {
    return name === PICTURE_FILE ? join(this.of(id), name) : join(this.of(id), RESULT, name);
  }
}
