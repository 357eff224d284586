import { Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { getContent } from "../api/client";
import type { Variant, Video } from "../api/types";
import { useNotices } from "../state/notices";
import { Button } from "../ui/button";
import styles from "./download-menu.module.css";

const FILES: readonly { variant: Variant; text: string; hint: string; ending: string }[] = [
  { variant: "video", text: "MP4", hint: "for players and pages", ending: "mp4" },
  { variant: "webp", text: "WebP", hint: "animated picture", ending: "webp" },
  { variant: "gif", text: "GIF", hint: "for anything else", ending: "gif" },
  { variant: "png", text: "PNG frames", hint: "exact, as a ZIP", ending: "zip" },
  { variant: "spritesheet", text: "PNG sheet", hint: "all frames in one", ending: "png" },
];

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  // The browser has taken the address once the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A button with the formats of a video. */
export function DownloadMenu({ video }: { video: Video }) {
  const [isOpen, setOpen] = useState(false);
  const [busy, setBusy] = useState<Variant>();
  const { tell } = useNotices();
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !menu.current?.contains(event.target as Node))
        setOpen(false);
    };
    document.addEventListener("keydown", close);
    document.addEventListener("pointerdown", close);
    return () => {
      document.removeEventListener("keydown", close);
      document.removeEventListener("pointerdown", close);
    };
  }, [isOpen]);
  const load = async ({ variant, ending }: (typeof FILES)[number]) => {
    setBusy(variant);
    try {
      save(await getContent(video.id, variant), `${video.model}-${String(video.settings.seed)}.${ending}`);
      setOpen(false);
    } catch (error) {
      tell(error);
    }
    setBusy(undefined);
  };
  return (
    <div ref={menu} className={styles.menu}>
      <Button icon={Download} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Download
      </Button>
      {isOpen && (
        <ul className={styles.list}>
          {FILES.map((file) => (
            <li key={file.variant}>
              <button type="button" disabled={busy !== undefined} onClick={() => void load(file)}>
                <strong>{file.text}</strong>
                <span>{busy === file.variant ? "being made …" : file.hint}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
