import { useLocation } from "wouter";
import { shownPicture } from "../api/client";
import { useDraft } from "../state/draft";
import { useNotices } from "../state/notices";
import { pictureOfFile } from "./load-picture";

/** Takes a file, or an address that the server fetches, as the picture of the next video. */
export function useTakePicture(): (source: File | string) => Promise<void> {
  const { setPicture } = useDraft();
  const { tell, clear } = useNotices();
  const [, navigate] = useLocation();
  return async (source) => {
    clear();
    try {
      const isFile = typeof source !== "string";
      const blob = isFile ? source : await shownPicture(source);
      const name = isFile ? source.name : decodeURIComponent(new URL(source).pathname.split("/").at(-1) || source);
      setPicture(await pictureOfFile(blob, name));
      navigate("/");
    } catch (error) {
      tell(error);
    }
  };
}
