import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { createVideo, type NewVideo } from "../api/client";
import { putVideo } from "../api/queries";
import type { Settings, Video } from "../api/types";
import { lastFrameOf, pictureOfVideo } from "../picture/load-picture";
import { useDraft } from "./draft";
import { useNotices } from "./notices";

/** A seed of 32 bits, which is read and typed easily. */
export const randomSeed = (): string => String(crypto.getRandomValues(new Uint32Array(1))[0]);

const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What a video's settings say as options of a new one; what was left open stays open. */
const optionsOf = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));

/** What can be done with videos; `isBusy` while one of it is under way. What goes wrong is told in a notice. */
export function useVideoActions() {
  const client = useQueryClient();
  const draft = useDraft();
  const { tell, clear } = useNotices();
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);

  const doing = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    clear();
    await work().catch(tell);
    setBusy(false);
  };
  const queue = async (wanted: NewVideo) => {
    const video = await createVideo(wanted, newKey());
    putVideo(client, video);
    navigate(`/run/${video.id}`);
  };

  return {
    isBusy,
    /** Queues the draft. */
    generate: () =>
      doing(async () => {
        const { picture, model, options, profile } = draft;
        if (!picture) throw new Error("A video needs a picture. Drop one here, or choose one.");
        await queue({ image: picture.image, options, profile, ...(model !== undefined && { model }) });
      }),
    /** Queues a video again with another seed. */
    again: (video: Video) =>
      doing(async () => {
        const { image } = await pictureOfVideo(video);
        const options = { ...optionsOf(video.settings), seed: randomSeed() };
        await queue({ image, model: video.model, profile: video.profile, options });
      }),
    /** Makes a video's picture and settings the draft. */
    edit: (video: Video) =>
      doing(async () => {
        draft.setPicture(await pictureOfVideo(video));
        draft.setModel(video.model);
        draft.setOptions(optionsOf(video.settings));
        navigate("/");
      }),
    /** Makes a video's last frame the picture of the draft, with the same settings and a seed that is open. */
    extend: (video: Video) =>
      doing(async () => {
        const picture = await lastFrameOf(video);
        const { seed: _, ...settings } = optionsOf(video.settings);
        draft.setPicture(picture);
        draft.setModel(video.model);
        draft.setOptions(settings);
        navigate("/");
      }),
    doing,
  };
}
