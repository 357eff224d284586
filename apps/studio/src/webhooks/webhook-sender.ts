import type { Sqlite } from "../queue/database";
import type { VideoTable } from "../queue/video-table";
import type { VideoEvents } from "../videos/events";
import type { VideoRecord } from "../videos/record";
import { type SendContext, sendOnce } from "./send";
import { type Delivery, deliveryOf, RETRY_MS, videoIdOf } from "./webhook";

interface Options extends SendContext {
  table: VideoTable;
  /** Waiting times between tries; default {@link RETRY_MS}. */
  retryMs?: readonly number[];
}

/** How often the table is looked at. */
const LOOK_MS = 1000;
/** Messages that are on the way at a time. */
const MAX_SENDING = 8;

/** Messages in SQLite, tried until they are taken: they outlive the process. */
export class WebhookSender {
  private readonly sending = new Set<string>();
  private readonly timer: NodeJS.Timeout;
  private events: VideoEvents | undefined;

  constructor(
    private readonly database: Sqlite,
    private readonly options: Options,
  ) {
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  /** Notes the message about a video that has ended, as part of the transaction that ends it. */
  note(video: VideoRecord): void {
    const delivery = deliveryOf(video);
    if (!delivery) return;
    const { id, owner, url, body } = delivery;
    this.database
      .prepare("INSERT OR IGNORE INTO deliveries VALUES (?, ?, ?, ?, 0, ?)")
      .run(id, owner, url, body, Date.now());
    setImmediate(() => this.look());
  }

  /** Tells of each try from now on. */
  tell(events: VideoEvents): void {
    this.events = events;
  }

  /** Ends the looking; what was not taken is tried again after the next start. */
  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    if (!this.database.open) return;
    try {
      this.sendDue();
    } catch {
      // A database that cannot be read now is looked at again.
    }
  }

  private sendDue(): void {
    const sql = "SELECT id, owner, url, body, attempts FROM deliveries WHERE due <= ? ORDER BY due LIMIT ?";
    for (const delivery of this.database.prepare(sql).all(Date.now(), 2 * MAX_SENDING) as Delivery[]) {
      if (this.sending.size >= MAX_SENDING || this.sending.has(delivery.id)) continue;
      this.sending.add(delivery.id);
      // What could not be noted is sent once more, with the same id.
      void this.send(delivery)
        .catch(() => {})
        .finally(() => this.sending.delete(delivery.id));
    }
  }

  private async send(delivery: Delivery): Promise<void> {
    const { table, retryMs = RETRY_MS, ...context } = this.options;
    const waitMs = retryMs[delivery.attempts];
    const webhook = await sendOnce(delivery, waitMs === undefined, context);
    if (!this.database.open) return;
    const video = table.setWebhook(videoIdOf(delivery), webhook, () => {
      if (webhook.status === "retrying") {
        const sql = "UPDATE deliveries SET attempts = attempts + 1, due = ? WHERE id = ?";
        this.database.prepare(sql).run(Date.now() + waitMs!, delivery.id);
      } else this.database.prepare("DELETE FROM deliveries WHERE id = ?").run(delivery.id);
    });
    if (video) this.events?.publish({ type: "webhook", id: video.id, owner: video.owner, webhook });
  }
}
