import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

/** Tells people something that went wrong, in a sentence. */
export type Tell = (problem: unknown) => void;

const Context = createContext<{ sentence: string | undefined; tell: Tell; clear: () => void } | undefined>(undefined);

/** What an error says; whatever is none says so. */
export const sentenceOf = (problem: unknown): string =>
  problem instanceof Error ? problem.message : `Something went wrong: ${String(problem)}.`;

/** Keeps the last sentence until it is closed or another one comes. */
export function NoticeProvider({ children }: { children: ReactNode }) {
  const [sentence, setSentence] = useState<string>();
  const tell = useCallback((problem: unknown) => setSentence(sentenceOf(problem)), []);
  const clear = useCallback(() => setSentence(undefined), []);
  return <Context value={{ sentence, tell, clear }}>{children}</Context>;
}

/** The sentence that is shown, and what shows and clears one. */
export function useNotices() {
  const notices = useContext(Context);
  if (notices === undefined) throw new Error("useNotices is used outside of NoticeProvider");
  return notices;
}
