import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import type { ImageInput } from "../api/client";
import type { OptionValue, Size } from "../api/types";

/** The picture of the next video: what is shown, what is sent, and what it is called. */
export interface Picture {
  url: string;
  size: Size;
  name: string;
  image: ImageInput;
}

/** The next video, as far as it has been decided. */
export interface Draft {
  picture: Picture | undefined;
  model: string | undefined;
  /** Options that were set; all others have the model's defaults. */
  options: Readonly<Record<string, OptionValue>>;
  profile: boolean;
}

/** The draft and what can be done to it. */
export interface DraftStore extends Draft {
  /** Takes another picture, from its middle. */
  setPicture(picture: Picture | undefined): void;
  setModel(model: string): void;
  /** Sets an option, or with undefined gives it back to the model's default. */
  setOption(name: string, value: OptionValue | undefined): void;
  setOptions(options: Readonly<Record<string, OptionValue>>): void;
  setProfile(profile: boolean): void;
}

const KEPT_NAME = "vd-studio-draft";
type Kept = Pick<Draft, "model" | "options" | "profile">;

function kept(): Kept {
  const nothing: Kept = { model: undefined, options: {}, profile: true };
  try {
    return { ...nothing, ...(JSON.parse(localStorage.getItem(KEPT_NAME) ?? "{}") as Partial<Kept>) };
  } catch {
    return nothing;
  }
}

const Context = createContext<DraftStore | undefined>(undefined);

/** Keeps the draft; all but the picture outlives the page. */
export function DraftProvider({ children }: { children: ReactNode }) {
  const [{ model, options, profile }, setKept] = useState(kept);
  const [picture, setPicture] = useState<Picture>();
  useEffect(
    () => localStorage.setItem(KEPT_NAME, JSON.stringify({ model, options, profile })),
    [model, options, profile],
  );
  const store = useMemo((): DraftStore => {
    const change = (part: Partial<Kept>) => setKept((old) => ({ ...old, ...part }));
    return {
      ...{ picture, model, options, profile },
      setPicture: (to) => {
        setPicture(to);
        // What was in the middle of one picture is nowhere in another.
        setKept(({ options: { focus: _, ...others }, ...old }) => ({ ...old, options: others }));
      },
      setModel: (to) => change({ model: to }),
      setOptions: (to) => change({ options: to }),
      setProfile: (to) => change({ profile: to }),
      setOption: (name, value) =>
        setKept((old) => {
          const { [name]: _, ...others } = old.options;
          return { ...old, options: value === undefined ? others : { ...others, [name]: value } };
        }),
    };
  }, [picture, model, options, profile]);
  return <Context value={store}>{children}</Context>;
}

/** The draft of the page. */
export function useDraft(): DraftStore {
  const store = useContext(Context);
  if (store === undefined) throw new Error("useDraft is used outside of DraftProvider");
  return store;
}
