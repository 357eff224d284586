import { Webhook } from "standardwebhooks";
import { hasEnded, type VideoRecord } from "../videos/record";
import { viewOf } from "../videos/view";

/** A message to somebody's server. */
export interface Delivery {
  /** The same in every try, so that the receiver can leave out a second one. */
  id: string;
  owner: string;
  url: string;
  body: string;
  /** Tries so far. */
  attempts: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waiting times between tries, as the Standard Webhooks specification suggests; after the last one the message is given up. */
export const RETRY_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
];

/** What ids of messages begin with; the rest is the video's. */
const MESSAGE = "msg_";

/** Returns the id of the video that a message is about. */
export const videoIdOf = ({ id }: Delivery): string => id.slice(MESSAGE.length);

/** Returns the message that a video has ended; undefined where nobody wants it. */
export function deliveryOf(video: VideoRecord): Delivery | undefined {
  if (!video.webhook || !hasEnded(video)) return undefined;
  const body = {
    type: `video.${video.status}`,
    timestamp: new Date(video.completedAt ?? 0).toISOString(),
    data: viewOf(video),
  };
  const { id, owner, webhook } = video;
  return { id: `${MESSAGE}${id}`, owner, url: webhook.url, body: JSON.stringify(body), attempts: 0 };
}

/** Returns the headers of a signed message. Source: standardwebhooks.com, signature v1 (HMAC-SHA256). */
export function signedHeaders({ id, body }: Delivery, secret: string, now = new Date()): Record<string, string> {
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / SECOND)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
}
