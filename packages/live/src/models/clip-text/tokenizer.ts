import { OBJECT, requireFields, VdError } from "@vd/kernels-native";

/** What a tokenizer's files say. */
export interface ClipTokenizerFiles {
  /** Tokens by their text: `vocab.json`. */
  vocab: Readonly<Record<string, number>>;
  /** The lines of `merges.txt`, the most frequent pair first; one that begins with `#version` is none. */
  merges: readonly string[];
  /** The token that fills a text up to its length; default the end's. */
  pad?: string | undefined;
  /** Places of a text, its begin and end among them. */
  maxTokens: number;
}

/** Makes tokens of texts as CLIP was trained on them. */
export interface ClipTokenizer {
  /** The text between begin and end, cut to the length and filled up to it. */
  encode(text: string): number[];
  /** How many tokens a text has, its begin and end among them; those beyond the length are cut. */
  count(text: string): number;
}

const BEGIN = "<|startoftext|>";
const END = "<|endoftext|>";
const WORD_END = "</w>";

/** Words as CLIP cuts them: its own marks, English endings, letters, single digits, everything else in runs. */
const WORDS = /<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+/gu;

/** Printable characters for all bytes: those that print stand for themselves, the others for what follows behind 255.
 *  Source: openai/gpt-2 src/encoder.py bytes_to_unicode. */
function charactersOfBytes(): string[] {
  const prints = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 255 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(prints(byte) ? byte : next++));
}

/** Lower case of each character by itself: what one becomes does not depend on its neighbours. */
const lowerCase = (text: string) => Array.from(text, (character) => character.toLowerCase()).join("");

function fail(expected: string, got: string): never {
  throw new VdError({ code: "weights", where: "tokenizer", expected, got });
}

/** Byte pair encoding: joins the pair that was most frequent in training, again and again. */
class BytePairs {
  private readonly ranks: ReadonlyMap<string, number>;
  private readonly known = new Map<string, readonly string[]>();

  constructor(merges: readonly string[]) {
    const pairs = merges.filter((line) => line.trim() !== "" && !line.startsWith("#version"));
    const odd = pairs.find((line) => line.split(" ").length !== 2);
    if (odd !== undefined) fail("two parts on each line of merges.txt", JSON.stringify(odd));
    this.ranks = new Map(pairs.map((pair, rank) => [pair, rank]));
  }

  /** The parts of a word. letters: its bytes as characters. */
  split(letters: readonly string[]): readonly string[] {
    const word = letters.join("");
    const known = this.known.get(word);
    if (known) return known;
    let parts = letters.map((letter, i) => (i === letters.length - 1 ? letter + WORD_END : letter));
    for (let best = this.lowest(parts); best !== undefined; best = this.lowest(parts)) parts = joinAll(parts, best);
    if (this.known.size >= MOST_WORDS) this.known.clear();
    this.known.set(word, parts);
    return parts;
  }

  private lowest(parts: readonly string[]): string | undefined {
    let [best, lowest]: [string | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (let i = 0; i + 1 < parts.length; i++) {
      const pair = `${parts[i]} ${parts[i + 1]}`;
      const rank = this.ranks.get(pair) ?? Number.POSITIVE_INFINITY;
      if (rank < lowest) [best, lowest] = [pair, rank];
    }
    return best;
  }
}

/** Words whose parts are kept. */
const MOST_WORDS = 10_000;
/** Most characters of a text that are looked at: far more than fit a model's places. */
const MOST_CHARACTERS = 100_000;

/** Joins every occurrence of a pair, from the left. */
function joinAll(parts: readonly string[], pair: string): string[] {
  const joined: string[] = [];
  for (let i = 0; i < parts.length; i++) {
    if (i + 1 < parts.length && `${parts[i]} ${parts[i + 1]}` === pair) joined.push(parts[i]! + parts[++i]!);
    else joined.push(parts[i]!);
  }
  return joined;
}

/**
 * Makes CLIP's tokenizer from its published files: text in canonical composition (NFC), spaces as one, lower case, words by CLIP's
 * pattern, bytes, byte pairs. Source: https://arxiv.org/abs/2103.00020; transformers convert_slow_tokenizer.py CLIPConverter.
 *
 * @throws VdError `weights` for files that are not those of such a tokenizer
 * @example
 * ```ts
 * import { clipTokenizer } from "@vd/live";
 *
 * const vocab = { "<|startoftext|>": 0, "<|endoftext|>": 1, a: 2, "a</w>": 3, "b</w>": 4, "ab</w>": 5 };
 * const tokenizer = clipTokenizer({ vocab, merges: ["a b</w>"], maxTokens: 6 });
 * console.log(tokenizer.encode("AB a")); // [0, 5, 3, 1, 1, 1]
 * ```
 */
export function clipTokenizer(files: ClipTokenizerFiles): ClipTokenizer {
  requireFields("clipTokenizer", files, { vocab: OBJECT });
  const { vocab, merges, pad = END, maxTokens } = files;
  const tokens = new Map(Object.entries(vocab));
  for (const name of [BEGIN, END, pad]) {
    const token = tokens.get(name);
    if (!Number.isInteger(token)) fail(`the token ${name} in vocab.json`, String(token));
  }
  if (!(Number.isInteger(maxTokens) && maxTokens >= 2)) fail("at least two places", String(maxTokens));
  const [begin, end, filler] = [tokens.get(BEGIN)!, tokens.get(END)!, tokens.get(pad)!];
  const characters = charactersOfBytes();
  const pairs = new BytePairs(merges);
  const utf8 = new TextEncoder();

  const ofWord = (word: string): readonly number[] => {
    if (word === BEGIN || word === END) return [tokens.get(word)!];
    const letters = Array.from(utf8.encode(word), (byte) => characters[byte]!);
    return pairs.split(letters).map((part) => tokens.get(part) ?? end);
  };
  const ofText = (text: string): number[] => {
    const clean = lowerCase(text.slice(0, MOST_CHARACTERS).normalize("NFC").replace(/\s+/gu, " "));
    return [...clean.matchAll(WORDS)].flatMap(([word]) => ofWord(word));
  };
  return {
    count: (text) => ofText(text).length + 2,
    encode(text) {
      const inside = ofText(text).slice(0, maxTokens - 2);
      const used = [begin, ...inside, end];
      return [...used, ...Array<number>(maxTokens - used.length).fill(filler)];
    },
  };
}
