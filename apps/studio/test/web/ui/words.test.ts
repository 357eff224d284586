import { expect, it } from "vitest";
import { bytesWords, durationWords, nameWords, plainSentence, whenWords } from "../../../web/src/ui/words";

it.each([
  [0.2, "under 1 s"],
  [1, "1 s"],
  [59.4, "59 s"],
  [59.6, "1 min"],
  [130, "2 min 10 s"],
  [3599.6, "1 h"],
  [3900, "1 h 5 min"],
  [7199, "2 h"],
  [47 * 3600, "47 h"],
  [48 * 3600, "2 days"],
  [4.1e11, "4,745,370 days"],
])("says %d seconds as %s", (seconds, words) => expect(durationWords(seconds)).toBe(words));

it.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [174 * 2 ** 20, "174 MiB"],
  [2 ** 20 * 1023.9, "1.0 GiB"],
  [3.25 * 2 ** 30, "3.3 GiB"],
  [40 * 2 ** 30, "40 GiB"],
  [5 * 2 ** 40, "5.0 TiB"],
])("says %d bytes as %s", (bytes, words) => expect(bytesWords(bytes)).toBe(words));

it("says messages of the library as sentences", () => {
  expect(plainSentence("[image bytes] expected a picture, got none.")).toBe("Expected a picture, got none.");
  expect(plainSentence("The picture is empty.")).toBe("The picture is empty.");
});

it("says when something was", () => {
  const now = new Date(2026, 3, 12, 15, 0).getTime();
  const at = (hour: number, day = 12) => new Date(2026, 3, day, hour, 3).getTime() / 1000;
  expect(whenWords(now / 1000 - 20, now)).toBe("just now");
  expect(whenWords(now / 1000 - 300, now)).toBe("5 min ago");
  expect(whenWords(at(9), now)).toBe("today, 09:03");
  expect(whenWords(at(23, 11), now)).toBe("11 Apr, 23:03");
});

it("says names of options that it does not know by the names themselves", () => {
  expect(nameWords("motionBucketId")).toBe("Motion");
  expect(nameWords("guidanceInterval")).toBe("Guidance interval");
  expect(nameWords("stepNoise")).toBe("Step noise");
});
