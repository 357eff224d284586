import type { MarkdownRenderer } from "vitepress";

/** Words of code that are longer may break anywhere: they would not fit a phone's table. */
const LONGEST = 24;

/** Keeps words of inline code whole: browsers break lines after each hyphen, and `--motion` would stand as `--` and `motion`. */
export function wholeWords(md: MarkdownRenderer): void {
  md.renderer.rules.code_inline = (tokens, index, _options, _env, renderer) => {
    const { content, attrs } = tokens[index]!;
    const words = content.split(" ").map((word) => {
      const text = md.utils.escapeHtml(word);
      return word.includes("-") && word.length <= LONGEST ? `<span class="word">${text}</span>` : text;
    });
    const given = attrs === null ? "" : renderer.renderAttrs(tokens[index]!);
    return `<code v-pre${given}>${words.join(" ")}</code>`;
  };
}
