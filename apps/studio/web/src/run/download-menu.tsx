import { Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { contentUrl } from "../api/client";
import type { Variant, Video } from "../api/types";
import { Button } from "../ui/button";
import styles from "./download-menu.module.css";

const FILES: readonly { variant: Variant; text: string; hint: string }[] = [
  { variant: "video", text: "MP4", hint: "for players and pages" },
  { variant: "webp", text: "WebP", hint: "animated picture" },
  { variant: "gif", text: "GIF", hint: "for anything else" },
  { variant: "png", text: "PNG frames", hint: "exact, as a ZIP" },
  { variant: "spritesheet", text: "PNG sheet", hint: "all frames in one" },
];

/** A button with the files that a video has. */
export function DownloadMenu({ video }: { video: Video }) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      const isLeft =
        event instanceof KeyboardEvent ? event.key === "Escape" : !menu.current?.contains(event.target as Node);
      if (!isLeft) return;
      setOpen(false);
      if (event instanceof KeyboardEvent) menu.current?.querySelector("button")?.focus();
    };
    document.addEventListener("keydown", close);
    document.addEventListener("pointerdown", close);
    return () => {
      document.removeEventListener("keydown", close);
      document.removeEventListener("pointerdown", close);
    };
  }, [isOpen]);
  return (
    <div ref={menu} className={styles.menu}>
      <Button icon={Download} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Download
      </Button>
      {isOpen && (
        <ul className={styles.list}>
          {FILES.filter(({ variant }) => video.variants.includes(variant)).map(({ variant, text, hint }) => (
            <li key={variant}>
              <a href={contentUrl(video.id, variant, true)} download onClick={() => setOpen(false)}>
                <strong>{text}</strong>
                <span>{hint}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
