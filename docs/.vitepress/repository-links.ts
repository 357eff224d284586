import { dirname, relative, resolve } from "node:path";
import type { MarkdownRenderer } from "vitepress";

/** A token of markdown-it. */
type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/** How files of the repository become addresses of the site. */
export interface RepositoryPaths {
  /** The repository's root. */
  root: string;
  /** Address of a Markdown file, by its path from the root; undefined for those that are no pages. */
  addressOf: (path: string) => string | undefined;
}

const isRelative = (href: string) => !/^(?:[a-z]+:|\/|#)/i.test(href);

/** A link to a file that is no page: its text stays, and says where in the repository it lies. */
function unlink(open: Token, close: Token | undefined, path: string): void {
  open.tag = "span";
  open.attrs = [["title", `In the repository: ${path}`]];
  if (close) close.tag = "span";
}

function mend(open: Token, close: Token | undefined, from: string, { root, addressOf }: RepositoryPaths): void {
  const href = open.attrGet("href") ?? "";
  if (!isRelative(href)) return;
  const [file, hash] = href.split("#") as [string, string?];
  const path = relative(root, resolve(dirname(from), decodeURIComponent(file))).replaceAll("\\", "/");
  const address = addressOf(path);
  if (address === undefined) unlink(open, close, path);
  else open.attrSet("href", hash === undefined ? address : `${address}#${hash}`);
}

/** Lets pages link each other as files of the repository, which is what readers on a code host need. */
export function repositoryLinks(md: MarkdownRenderer, paths: RepositoryPaths): void {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    for (const { children } of tokens) {
      const links = (children ?? []).filter(({ type }) => type === "link_open" || type === "link_close");
      links.forEach((token, i) => {
        if (token.type === "link_open") mend(token, links[i + 1], env.realPath ?? env.path, paths);
      });
    }
  });
}
