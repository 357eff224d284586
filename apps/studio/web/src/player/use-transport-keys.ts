import { useEffect, useRef } from "react";
import type { ClipFacts, Transport } from "./transport";

/** Does what a key of the player says; false if it says nothing. */
function press(key: string, transport: Transport, { numFrames }: ClipFacts): boolean {
  const { frame, seek, toggle, setLooping, isLooping } = transport;
  switch (key) {
    case " ":
    case "k":
      toggle();
      return true;
    case "ArrowLeft":
    case ",":
      seek(frame - 1);
      return true;
    case "ArrowRight":
    case ".":
      seek(frame + 1);
      return true;
    case "Home":
      seek(0);
      return true;
    case "End":
      seek(numFrames - 1);
      return true;
    case "l":
      setLooping(!isLooping);
      return true;
    default:
      return false;
  }
}

/** Elements that need the keys themselves. */
const OWN_KEYS = "input, select, textarea, dialog, [contenteditable]";

/** Lets keys play, stop and move by frames, wherever the focus is but in a field; Space on a button presses it. */
export function useTransportKeys(transport: Transport, facts: ClipFacts): void {
  const latest = useRef({ transport, facts });
  latest.current = { transport, facts };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element))
        return;
      if (target.closest(OWN_KEYS) || (key === " " && target.closest("button, a, summary"))) return;
      if (press(key, latest.current.transport, latest.current.facts)) event.preventDefault();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
