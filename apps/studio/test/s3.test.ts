import { afterAll, beforeAll, expect, it } from "vitest";
import { S3Files } from "../src/files/s3-files";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { S3_ACCESS, startS3 } from "./support/s3-stand-in";

const { folder, remove } = temporaryFolder();
let s3: Awaited<ReturnType<typeof startS3>>;
let studio: TestStudio;
beforeAll(async () => {
  s3 = await startS3();
  process.env.AWS_ACCESS_KEY_ID = S3_ACCESS.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = S3_ACCESS.secretAccessKey;
  studio = await startTestStudio(folder, ["--s3", s3.url]);
});
afterAll(async () => {
  await studio.stop();
  s3.stop();
  remove();
});

it("keeps videos in a bucket and answers with links that are signed", async () => {
  const { id } = (await (await studio.submit()).json()) as VideoView;
  expect(await studio.ended(id)).toMatchObject({ status: "completed" });
  expect([...s3.objects.keys()]).toContain(`/bucket/${id}/result.json`);
  const link = await studio.call(`v1/videos/${id}/content?variant=webp`, { redirect: "manual" });
  expect([link.status, link.headers.get("cache-control")]).toEqual([302, "no-store"]);
  const url = link.headers.get("location")!;
  const file = await fetch(url);
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/webp"]);
  expect((await fetch(url.replace(/webp/, "gif"))).status).toBe(403);
  // A link ends after an hour, and nobody makes it longer.
  expect(new URL(url).searchParams.get("X-Amz-Expires")).toBe("3600");
  expect((await fetch(url.replace("Expires=3600", "Expires=86400"))).status).toBe(403);
  s3.setClock(() => Date.now() + 3_601_000);
  expect((await fetch(url)).status).toBe(403);
  s3.setClock(Date.now);
  const saved = await studio.call(`v1/videos/${id}/content?download=true`, { redirect: "manual" });
  expect(new URL(saved.headers.get("location")!).searchParams.get("response-content-disposition")).toBe(
    `attachment; filename="${id}-video.mp4"`,
  );
  const next = (await (await studio.submit({ image: { video: id } })).json()) as VideoView;
  expect((await studio.ended(next.id)).status).toBe("completed");
  for (const each of [id, next.id]) await studio.call(`v1/videos/${each}`, { method: "DELETE" });
  expect([...s3.objects.keys()]).toEqual([]);
});

it("says what a bucket answers that knows other keys", async () => {
  const files = new S3Files(s3.url, { ...S3_ACCESS, secretAccessKey: "wrong" }, folder);
  await expect(files.putPicture("video_1", new Uint8Array(1), "image/png")).rejects.toThrow(
    "403 SignatureDoesNotMatch",
  );
});
