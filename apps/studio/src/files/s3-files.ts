import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { makeFolder } from "@vd/tensor";
import { AwsClient } from "aws4fetch";
import { s3Variables } from "../environment";
import type { VideoResult } from "../videos/record";
import { PICTURE_FILE, PROFILE_FILES, VARIANT_FILES } from "../videos/variants";
import {
  dispositionOf,
  type FileAnswer,
  type FileHeaders,
  RESULT_FILE,
  type VideoFiles,
  type WorkFolders,
} from "./video-files";

/** How long a link to a file is good for. */
const LINK_SECONDS = 3600;
const NOT_FOUND = 404;

const ALL_NAMES = [
  PICTURE_FILE,
  ...[...Object.values(VARIANT_FILES), ...Object.values(PROFILE_FILES)].map(({ name }) => name),
];

/** Media types by the names of files; the bucket's links say them. */
const MEDIA_TYPES = new Map<string, string>(
  [...Object.values(VARIANT_FILES), ...Object.values(PROFILE_FILES)].map(({ name, mediaType }) => [name, mediaType]),
);

/** Who may use the bucket. */
export interface S3Access {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  region: string;
}

/** Files in a bucket of S3 or what speaks its language. Videos are made in `work`, a folder of this machine; finished steps stay there,
 *  so that another machine that takes a video over begins it anew. */
export class S3Files implements VideoFiles {
  readonly origin: string;
  private readonly client: AwsClient;

  constructor(
    private readonly bucket: string,
    { sessionToken, ...access }: S3Access,
    private readonly work: string,
  ) {
    this.origin = new URL(bucket).origin;
    this.client = new AwsClient({ ...access, service: "s3", ...(sessionToken !== undefined && { sessionToken }) });
  }

  async putPicture(id: string, bytes: Uint8Array, mediaType: string): Promise<void> {
    await this.put(`${id}/${PICTURE_FILE}`, bytes, mediaType);
  }

  async begin(id: string, attempt: number): Promise<WorkFolders> {
    const output = join(this.work, id, `attempt-${attempt}`);
    await rm(output, { recursive: true, force: true });
    await makeFolder(output);
    const picture = join(this.work, id, PICTURE_FILE);
    const bytes = await this.read(id, PICTURE_FILE);
    if (!bytes) throw new Error("The picture is not in the bucket any more.");
    await writeFile(picture, bytes);
    return { picture, output, steps: join(this.work, id, "steps") };
  }

  async commit(id: string, output: string, result: VideoResult): Promise<VideoResult> {
    const earlier = await this.committed(id);
    if (earlier) return earlier;
    for (const name of result.files)
      await this.put(
        `${id}/${name}`,
        await readFile(join(output, name)),
        MEDIA_TYPES.get(name) ?? "application/octet-stream",
      );
    // Last: a video without it has no files that count.
    await this.put(`${id}/${RESULT_FILE}`, Buffer.from(JSON.stringify(result)), "application/json");
    return result;
  }

  async discard(_: string, output: string): Promise<void> {
    await rm(output, { recursive: true, force: true });
  }

  async tidy(id: string): Promise<void> {
    await rm(join(this.work, id), { recursive: true, force: true });
  }

  async committed(id: string): Promise<VideoResult | undefined> {
    const bytes = await this.read(id, RESULT_FILE);
    return bytes && (JSON.parse(Buffer.from(bytes).toString()) as VideoResult);
  }

  async find(id: string, name: string, headers: FileHeaders): Promise<FileAnswer> {
    const url = new URL(`${this.bucket}/${id}/${name}`);
    url.searchParams.set("X-Amz-Expires", String(LINK_SECONDS));
    url.searchParams.set("response-content-type", headers.mediaType);
    url.searchParams.set("response-content-disposition", dispositionOf(headers));
    const signed = await this.client.sign(url.href, { method: "GET", aws: { signQuery: true } });
    return { kind: "link", url: signed.url };
  }

  async read(id: string, name: string): Promise<Uint8Array | undefined> {
    const response = await this.client.fetch(`${this.bucket}/${id}/${name}`);
    if (response.status === NOT_FOUND) {
      await response.body?.cancel();
      return undefined;
    }
    await requireOk(response, "GET", name);
    return new Uint8Array(await response.arrayBuffer());
  }

  async remove(id: string): Promise<void> {
    // The result first: what is left if this breaks off is no video.
    for (const name of [RESULT_FILE, ...ALL_NAMES]) {
      const response = await this.client.fetch(`${this.bucket}/${id}/${name}`, { method: "DELETE" });
      if (response.status !== NOT_FOUND) await requireOk(response, "DELETE", name);
      await response.body?.cancel();
    }
    await rm(join(this.work, id), { recursive: true, force: true });
  }

  private async put(path: string, bytes: Uint8Array, mediaType: string): Promise<void> {
    const headers = { "content-type": mediaType };
    const response = await this.client.fetch(`${this.bucket}/${path}`, {
      method: "PUT",
      body: bytes as Uint8Array<ArrayBuffer>,
      headers,
    });
    await requireOk(response, "PUT", path);
    await response.body?.cancel();
  }
}

async function requireOk(response: Response, method: string, name: string): Promise<void> {
  if (response.ok) return;
  const [, code = ""] = /<Code>([\w.]+)<\/Code>/.exec(await response.text()) ?? [];
  throw new Error(`The bucket answered ${response.status} ${code} to ${method} ${name}.`);
}

/** Opens a bucket with the keys of the environment, by the names that all tools of S3 read. work: a folder for videos that are made.
 *  @throws VdError `attr` where they are missing */
export function openS3Files(bucket: string, work: string): S3Files {
  const { accessKeyId, secretAccessKey, sessionToken, region } = s3Variables();
  if (!accessKeyId || !secretAccessKey)
    throw new VdError({
      ...{ code: "attr", where: "--s3", expected: "keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", got: "none" },
      hint: "Set both in the environment.",
    });
  return new S3Files(bucket.replace(/\/+$/, ""), { accessKeyId, secretAccessKey, sessionToken, region }, work);
}
