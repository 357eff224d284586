import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { estimateVideo } from "../api/client";
import { useDraft } from "../state/draft";

/** Typing and dragging end before the server is asked again. */
const DELAY_MS = 200;

function useSettled<T>(value: T): T {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return JSON.parse(settled) as T;
}

/** What the draft would take: time, memory, all settings with their defaults, and the part of the picture that is used. */
export function useEstimate() {
  const { model, options, picture } = useDraft();
  const { seed: _, ...decisive } = options;
  const wanted = useSettled({
    options: decisive,
    ...(model !== undefined && { model }),
    ...(picture && { size: picture.size }),
  });
  return useQuery({
    queryKey: ["estimate", wanted],
    queryFn: ({ signal }) => estimateVideo(wanted, wanted.size, signal),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 60_000,
  });
}
