import type { KeyRecord, KeyStore } from "../keys/key-store";
import { LOCAL_OWNER } from "../videos/record";

/** How often keys of open connections are looked at: they are removed by other processes, which tell nobody. */
const LOOK_MS = 1000;

/** Ends connections that stay open when their key is removed: a key is asked for when a call begins, and some calls last for hours. */
export class KeyWatch {
  private readonly byKey = new Map<string, Set<() => void>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keys: KeyStore,
    private readonly lookMs = LOOK_MS,
  ) {}

  /** Has `end` called once when the key of a caller is removed; returns what ends the watching. Who came without a key has none to lose. */
  watch({ id }: KeyRecord, end: () => void): () => void {
    if (id === LOCAL_OWNER) return () => {};
    const ends = this.byKey.get(id) ?? new Set();
    this.byKey.set(id, ends.add(end));
    this.lookLater();
    return () => {
      ends.delete(end);
      if (ends.size === 0 && this.byKey.get(id) === ends) this.byKey.delete(id);
    };
  }

  private lookLater(): void {
    this.timer ??= setTimeout(() => {
      void this.look().finally(() => {
        this.timer = undefined;
        if (this.byKey.size > 0) this.lookLater();
      });
    }, this.lookMs).unref();
  }

  private async look(): Promise<void> {
    for (const [id, ends] of [...this.byKey]) {
      // While keys cannot be read nobody is shut out.
      const isKnown = await this.keys.byId(id).then(Boolean, () => true);
      if (isKnown) continue;
      this.byKey.delete(id);
      for (const end of ends) end();
    }
  }
}
