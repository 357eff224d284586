import { type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, contentUrl, getContent, getVideo, listModels, listOptions, listVideos, openEvents } from "./client";
import type { Preview, Progress, Video } from "./types";

const LIST = ["videos"];
const videoKey = (id: string) => ["video", id];
const previewKey = (id: string) => ["preview", id];

interface Page {
  data: Video[];
  has_more?: boolean;
}
type Pages = { pages: Page[]; pageParams: unknown[] };

/** All models; they do not change while the server runs. */
export const useModels = () =>
  useQuery({ queryKey: ["models"], queryFn: listModels, staleTime: Number.POSITIVE_INFINITY });

/** All rows of the option contract. */
export const useOptions = () =>
  useQuery({ queryKey: ["options"], queryFn: listOptions, staleTime: Number.POSITIVE_INFINITY });

/** The list of videos, page after page, the newest first. */
export const useVideos = () =>
  useInfiniteQuery({
    queryKey: LIST,
    queryFn: ({ pageParam }) => listVideos(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page) => (last.has_more ? last.data.at(-1)?.id : undefined),
  });

/** One video, kept fresh by the events. */
export function useVideo(id: string) {
  const client = useQueryClient();
  const listed = () =>
    client
      .getQueryData<Pages>(LIST)
      ?.pages.flatMap(({ data }) => data)
      .find((one) => one.id === id);
  return useQuery({ queryKey: videoKey(id), queryFn: () => getVideo(id), initialData: listed });
}

/** The newest preview of a video that is being made; undefined before the first. */
export const usePreview = (id: string): Preview | undefined =>
  useQuery<Preview | null>({
    ...{ queryKey: previewKey(id), queryFn: () => null, enabled: false, staleTime: Number.POSITIVE_INFINITY },
  }).data ?? undefined;

/**
 * The clip of a finished video as an address; undefined until it is there. The whole file is fetched first, so that every frame of it
 * can be gone to at once. Where it lies in a storage that lets no page read it, the address is the server's own.
 */
export function useClip(id: string, isThere: boolean): { url: string | undefined; error: Error | null } {
  const { data, error } = useQuery({
    queryKey: ["clip", id],
    queryFn: ({ signal }) => getContent(id, "video", signal),
    enabled: isThere,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const blobUrl = useObjectUrl(data);
  const isUnreadable = error instanceof ApiError && error.status === 0;
  return { url: isUnreadable ? contentUrl(id, "video") : blobUrl, error: isUnreadable ? null : error };
}

const LINGER_MS = 5000;

/** An address for a blob, given back a while after it is not shown any more. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return setUrl(undefined);
    const made = URL.createObjectURL(blob);
    setUrl(made);
    // What shows it may still be loading: a video asks for its parts one after the other.
    return () => void setTimeout(() => URL.revokeObjectURL(made), LINGER_MS);
  }, [blob]);
  return url;
}

/** Puts a video where all parts of the page see it; a new one comes first in the list. */
export function putVideo(client: QueryClient, video: Video): void {
  client.setQueryData(videoKey(video.id), video);
  client.setQueryData<Pages>(LIST, (old) => {
    if (old === undefined) return old;
    const isListed = old.pages.some(({ data }) => data.some(({ id }) => id === video.id));
    const pages = old.pages.map((page, index) => ({
      ...page,
      data: isListed
        ? page.data.map((one) => (one.id === video.id ? video : one))
        : index === 0
          ? [video, ...page.data]
          : page.data,
    }));
    return { ...old, pages };
  });
}

/** Takes a video out of the list. */
export function dropVideo(client: QueryClient, id: string): void {
  client.setQueryData<Pages>(
    LIST,
    (old) =>
      old && { ...old, pages: old.pages.map((page) => ({ ...page, data: page.data.filter((one) => one.id !== id) })) },
  );
}

function putProgress(client: QueryClient, { id, ...phase }: Progress & { id: string }): void {
  const known = client.getQueryData<Video>(videoKey(id)) ?? listedVideo(client, id);
  if (known && known.status !== "completed" && known.status !== "failed")
    putVideo(client, { ...known, status: "in_progress", phase, progress: Math.round(100 * phase.fraction) });
}

const listedVideo = (client: QueryClient, id: string) =>
  client
    .getQueryData<Pages>(LIST)
    ?.pages.flatMap(({ data }) => data)
    .find((one) => one.id === id);

const REOPEN_MS = 2000;

/** Listens to the server, anew when it has ended the stream, until the function that comes back is called. */
function listen(client: QueryClient, onState: (isLost: boolean) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let events: EventSource;
  const open = () => {
    events = openEvents();
    const on = <T>(name: string, take: (data: T) => void) =>
      events.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data) as T));
    for (const name of ["status", "completed", "failed"]) on<Video>(name, (video) => putVideo(client, video));
    on<Progress & { id: string }>("progress", (progress) => putProgress(client, progress));
    on<Preview>("preview", (preview) => client.setQueryData(previewKey(preview.id), preview));
    on<{ id: string }>("deleted", ({ id }) => dropVideo(client, id));
    events.addEventListener("open", () => onState(false));
    events.addEventListener("error", () => {
      onState(true);
      // The browser tries again by itself after a connection broke off, and gives up when it was refused.
      if (events.readyState === EventSource.CLOSED) timer = setTimeout(open, REOPEN_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    events.close();
  };
}

/**
 * Listens to the server while the page is seen. Returns whether the connection is lost. A browser has six connections to a
 * server, for all its tabs: one that nobody looks at keeps none of them.
 */
export function useServerEvents(): boolean {
  const client = useQueryClient();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    let close: (() => void) | undefined;
    let hasMissed = false;
    const onState = (lost: boolean) => {
      setLost(lost);
      // What happened without a connection was not heard.
      if (!lost && hasMissed)
        void client.invalidateQueries({ predicate: ({ queryKey: [name] }) => name === "videos" || name === "video" });
      hasMissed = lost;
    };
    const follow = () => {
      const isSeen = document.visibilityState === "visible";
      if (isSeen) close ??= listen(client, onState);
      else {
        close?.();
        close = undefined;
        hasMissed = true;
      }
    };
    const leave = () => {
      close?.();
      close = undefined;
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", follow);
    return () => {
      leave();
      document.removeEventListener("visibilitychange", follow);
      window.removeEventListener("pagehide", leave);
      window.removeEventListener("pageshow", follow);
    };
  }, [client]);
  return isLost;
}
