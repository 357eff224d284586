import { useEffect, useRef, useState } from "react";
import { fromTransfer } from "./load-picture";
import { useTakePicture } from "./use-picture";

const isTyping = (target: EventTarget | null) => target instanceof Element && target.matches("input, textarea");

/** Takes pictures that are dropped or pasted anywhere on the page. Returns whether one is held over it. */
export function useDropTarget(): boolean {
  const [isOver, setOver] = useState(false);
  const takePicture = useTakePicture();
  const take = useRef(takePicture);
  take.current = takePicture;
  useEffect(() => {
    const ended = new AbortController();
    const on = <K extends keyof WindowEventMap>(name: K, listener: (event: WindowEventMap[K]) => void) =>
      window.addEventListener(name, listener, { signal: ended.signal });
    on("dragover", (event) => {
      event.preventDefault();
      setOver(true);
    });
    on("dragleave", ({ relatedTarget }) => relatedTarget === null && setOver(false));
    on("drop", (event) => {
      event.preventDefault();
      setOver(false);
      const source = fromTransfer(event.dataTransfer);
      if (source !== undefined) void take.current(source);
    });
    on("paste", ({ clipboardData, target }) => {
      const source = fromTransfer(clipboardData);
      // An address that is pasted into a field belongs there.
      if (source !== undefined && (typeof source !== "string" || !isTyping(target))) void take.current(source);
    });
    return () => ended.abort();
  }, []);
  return isOver;
}
