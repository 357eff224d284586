import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VideoView } from "../src/videos/view";
import { PICTURE, pictureAddress, startTestStudio, type TestStudio, TINY, temporaryFolder } from "./support/harness";

const { folder, remove } = temporaryFolder();
let studio: TestStudio;
beforeAll(async () => {
  studio = await startTestStudio(folder);
});
afterAll(async () => {
  await studio.stop();
  remove();
});

/** Sends a request with any `Host`; fetch() does not let anybody choose it. */
function statusWith(headers: Record<string, string>, path = "/v1/models"): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ port: studio.port, host: "localhost", path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on("error", reject)
      .end();
  });
}

describe("a video", () => {
  it("is queued, made, listed, sent and deleted", async () => {
    const answer = await studio.submit({ profile: true, metadata: { shot: "12" } });
    expect(answer.status).toBe(200);
    const queued = (await answer.json()) as VideoView;
    expect(queued).toMatchObject({
      object: "video",
      model: "tiny-svd",
      size: "32x32",
      progress: 0,
      metadata: { shot: "12" },
    });
    expect(queued.settings).toMatchObject({ width: 32, height: 32, numFrames: 2, steps: 1, seed: "7", fit: "cover" });
    expect(queued.picture).toEqual({ width: 128, height: 128, crop: { left: 0, top: 0, width: 128, height: 128 } });
    const done = await studio.ended(queued.id);
    expect(done).toMatchObject({ status: "completed", progress: 100, error: null, attempts: 1 });
    expect(done.spritesheet).toEqual({ columns: 2, rows: 1, width: 64, height: 32 });
    for (const [variant, start] of [
      ["webp", "RIFF"],
      ["gif", "GIF89a"],
      ["png", "PK"],
      ["spritesheet", "\x89PNG"],
      ["thumbnail", "RIFF"],
      ["last-frame", "\x89PNG"],
    ]) {
      const bytes = Buffer.from(
        await (await studio.call(`v1/videos/${done.id}/content?variant=${variant}`)).arrayBuffer(),
      );
      expect(bytes.toString("latin1", 0, start!.length), variant).toBe(start);
    }
    const mp4 = Buffer.from(await (await studio.call(`v1/videos/${done.id}/content`)).arrayBuffer());
    expect(mp4.toString("latin1", 4, 8)).toBe("ftyp");
    const part = await studio.call(`v1/videos/${done.id}/content`, { headers: { range: "bytes=4-7" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 4-7/${mp4.length}`]);
    expect([part.headers.get("content-type"), await part.text()]).toEqual(["video/mp4", "ftyp"]);
    const saved = await studio.call(`v1/videos/${done.id}/content?download=true`, { method: "HEAD" });
    expect(saved.headers.get("content-disposition")).toBe(`attachment; filename="${done.id}-video.mp4"`);
    expect(saved.headers.get("content-length")).toBe(String(mp4.length));
    const picture = Buffer.from(
      await (await studio.call(`v1/videos/${done.id}/content?variant=picture`)).arrayBuffer(),
    );
    expect(picture.equals(await readFile(PICTURE))).toBe(true);
    expect(await (await studio.call(`v1/videos/${done.id}/profile`)).text()).toContain("<!doctype html");
    const { data } = await studio.json<{ data: VideoView[] }>("v1/videos?limit=1");
    expect(data[0]!.id).toBe(done.id);
    const deleted = await studio.json<object>(`v1/videos/${done.id}`, { method: "DELETE" });
    expect(deleted).toEqual({ id: done.id, object: "video.deleted", deleted: true });
    expect((await studio.call(`v1/videos/${done.id}`)).status).toBe(404);
  });

  it("is the same as the same settings sent back make it, and goes on from another one's last frame", async () => {
    const first = await studio.ended(((await (await studio.submit()).json()) as VideoView).id);
    const again = await studio.ended(
      ((await (await studio.submit({ ...first.settings, size: undefined })).json()) as VideoView).id,
    );
    const sheet = async (id: string) =>
      Buffer.from(await (await studio.call(`v1/videos/${id}/content?variant=spritesheet`)).arrayBuffer());
    expect((await sheet(first.id)).equals(await sheet(again.id))).toBe(true);
    const next = (await (await studio.submit({ image: { video: first.id } })).json()) as VideoView;
    expect(next).toMatchObject({ remixed_from_video_id: first.id, picture: { width: 32, height: 32 } });
    expect((await studio.ended(next.id)).status).toBe("completed");
  });

  it("comes by a form too", async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries(TINY)) form.set(name, String(value));
    form.set("metadata", '{"a":"b"}');
    form.set("input_reference", new Blob([new Uint8Array(await readFile(PICTURE))], { type: "image/png" }), "ball.png");
    const video = await studio.json<VideoView>("v1/videos", { method: "POST", body: form });
    expect(video).toMatchObject({ size: "32x32", metadata: { a: "b" } });
    expect((await studio.ended(video.id)).status).toBe("completed");
  });

  it("tells what happens", async () => {
    const { id } = (await (await studio.submit({ steps: 3, previewEvery: 1 })).json()) as VideoView;
    const events = await (await studio.call(`v1/videos/${id}/events`)).text();
    const names = [...events.matchAll(/^event: (.+)$/gm)].map(([, name]) => name);
    expect(names[0]).toBe("status");
    expect(names.at(-1)).toBe("completed");
    expect(names).toContain("progress");
    expect(events).toContain("data:image/webp;base64,");
    const late = await (await studio.call(`v1/videos/${id}/events`)).text();
    expect([...late.matchAll(/^event: (.+)$/gm)].map(([, name]) => name)).toEqual(["status", "completed"]);
  });

  it("is cancelled, queued or running", async () => {
    const running = (await (await studio.submit({ steps: 500 })).json()) as VideoView;
    const waiting = (await (await studio.submit()).json()) as VideoView;
    for (const { id } of [waiting, running]) {
      const cancelled = await studio.json<VideoView>(`v1/videos/${id}/cancel`, { method: "POST" });
      expect(cancelled).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    }
    expect((await studio.ended(((await (await studio.submit()).json()) as VideoView).id)).status).toBe("completed");
  });

  it("is made once for one idempotency key", async () => {
    const headers = { "idempotency-key": "a" };
    const [first, second] = await Promise.all([studio.submit({}, headers), studio.submit({}, headers)]);
    const ids = [((await first.json()) as VideoView).id, ((await second.json()) as VideoView).id];
    expect(ids[0]).toBe(ids[1]);
    expect((await studio.submit({ seed: 8 }, headers)).status).toBe(422);
    await studio.ended(ids[0]!);
  });
});

describe("before the run", () => {
  it("says what a video would take", async () => {
    const body = JSON.stringify({ picture: { width: 640, height: 480 }, size: "64x64", focus: "0%,50%" });
    const headers = { "content-type": "application/json" };
    const estimate = await studio.json<Record<string, unknown>>("v1/videos/estimate", {
      method: "POST",
      headers,
      body,
    });
    expect(estimate).toMatchObject({
      crop: { left: 0, top: 0, width: 480, height: 480 },
      placed: { left: 0, top: 0, width: 64, height: 64 },
      settings: { width: 64, numFrames: 14 },
    });
    expect(estimate.estimatedSeconds).toBeGreaterThan(0);
    expect(estimate.memoryBytes).toBeGreaterThan(2 ** 20);
  });

  it("lists models and options, and describes itself", async () => {
    const models = await studio.json<{ data: object[] }>("v1/models");
    expect(models.data[0]).toMatchObject({ id: "tiny-svd", defaults: { width: 128, numFrames: 14 } });
    expect((await studio.call("v1/models/sora-2")).status).toBe(404);
    const options = await studio.json<{ data: { name: string; kind: string }[] }>("v1/options");
    expect(options.data.find(({ name }) => name === "steps")).toMatchObject({
      group: "video",
      kind: "integer",
      min: 1,
    });
    const openapi = await studio.json<{ openapi: string; paths: Record<string, object> }>("openapi.json");
    expect(openapi.openapi).toBe("3.1.0");
    expect(Object.keys(openapi.paths)).toContain("/v1/videos/{id}/content");
    expect(JSON.stringify(openapi.paths["/v1/videos"])).toContain("motionBucketId");
    expect(await (await studio.call("metrics")).text()).toMatch(
      /vd_videos_total\{status="completed",model="tiny-svd"\} \d/,
    );
    expect((await studio.call("readyz")).status).toBe(200);
  });
});

/** A picture of more pixels than any part loads, in few bytes. */
const WIDE = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="16000" height="16000"/>')}`;

describe("what is refused", () => {
  it.each([
    [{ image: undefined }, 400, /picture is needed/],
    [{ image: "/etc/passwd" }, 400, /address/],
    [{ image: "file:///etc/passwd" }, 400, /address/],
    [{ image: "data:image/png;base64,AAAA" }, 422, /picture/],
    [{ image: "http://localhost:1/" }, 422, /not a public/],
    [{ image: { video: "video_1" } }, 404, /no such video/],
    [{ steps: 0 }, 400, /\[steps\] expected a whole number from 1/],
    [{ size: "33x32" }, 400, /multiples of 8/],
    [{ stepz: 3 }, 400, /stepz/],
    [{ model: "sora-2" }, 400, /tiny-svd/],
    [{ priority: "urgent" }, 400, /high, normal, low/],
    [{ webhook: { url: "ftp://a" } }, 400, /https/],
    [{ input_reference: WIDE }, 400, /one picture/],
    [{ metadata: ["a"] }, 400, /an object/],
    [{ image: WIDE }, 413, /16000×16000 pixels; at most 178956970/],
    [{ resume: "/etc" }, 400, /resume/],
  ])("%j", async (fields, status, sentence) => {
    const answer = await studio.submit(fields);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toContain("application/problem+json");
    const problem = (await answer.json()) as { detail: string; status: number; error: { message: string } };
    expect(problem.detail).toMatch(sentence);
    expect(problem).toMatchObject({ status, error: { message: problem.detail } });
  });

  it("bodies that are no JSON, or of another type", async () => {
    const post = (body: string, type: string) =>
      studio.call("v1/videos", { method: "POST", body, headers: { "content-type": type } });
    const broken = await post("{", "application/json");
    expect([broken.status, ((await broken.json()) as { code: string }).code]).toEqual([400, "bad_request"]);
    const foreign = await post("a", "text/plain");
    expect([foreign.status, ((await foreign.json()) as { code: string }).code]).toEqual([415, "unknown_type"]);
    expect((await post("[]", "application/json")).status).toBe(400);
  });

  it("a body for a session that is more than a key", async () => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ key: "k".repeat(2000) });
    expect((await studio.call("session", { method: "POST", headers, body })).status).toBe(413);
  });

  it("other sites' pages and names", async () => {
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ host: "evil.example" })).toBe(403);
    expect(await statusWith({ host: `127.0.0.1:${studio.port}` })).toBe(200);
    expect(await statusWith({ origin: "http://evil.example" })).toBe(403);
    expect(await statusWith({ host: `localhost:${studio.port}`, origin: `http://localhost:${studio.port}` })).toBe(200);
    const preflight = await studio.call("v1/videos", { method: "OPTIONS" });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("the seed beyond 2^53 keeps its digits", async () => {
    const video = (await (await studio.submit({ seed: "18446744073709551615" })).json()) as VideoView;
    expect(video.settings.seed).toBe("18446744073709551615");
    expect((await studio.ended(video.id)).settings.seed).toBe("18446744073709551615");
    expect(await pictureAddress()).toContain("data:");
  });
});
