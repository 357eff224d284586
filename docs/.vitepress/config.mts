// The documentation as a site: the pages of docs, the READMEs of packages and apps, and the reference that typedoc makes
// of the sources. What stands in folders is listed from them.
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig, type Plugin } from "vitepress";
import { type Benchmark, readBenchmark } from "./benchmark";
import { repositoryLinks } from "./repository-links";
import { wholeWords } from "./whole-words";

const DOCS = fileURLToPath(new URL("..", import.meta.url));
const ROOT = join(DOCS, "..");
const link = (path: string) => `/${path.replace(/(^|\/)(README|index)\.md$/, "$1").replace(/\.md$/, "")}`;

/** The title of a page: of its front matter, else its first heading. */
function titleOf(path: string): string {
  const text = readFileSync(path, "utf8");
  return /^title: (.*)$/m.exec(text.split("\n---")[0]!)?.[1] ?? /^# (.*)$/m.exec(text)?.[1] ?? path;
}

const page = (file: string, text = titleOf(join(DOCS, file))): DefaultTheme.SidebarItem => ({ text, link: link(file) });

/** Pages of a folder of docs, by their titles. */
const pagesIn = (folder: string) =>
  readdirSync(join(DOCS, folder))
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .map((name) => page(`${folder}/${name}`));

/** READMEs of the packages below a folder of the workspace, by the packages' names. */
const readmesIn = (parent: string) =>
  readdirSync(join(ROOT, parent))
    .filter((name) => existsSync(join(ROOT, parent, name, "README.md")))
    .map((name) => {
      const { name: text } = JSON.parse(readFileSync(join(ROOT, parent, name, "package.json"), "utf8"));
      return { text, link: `/${parent}/${name}/` };
    });

const benchmarks: Benchmark[] = readdirSync(join(DOCS, "benchmarks"))
  .filter((name) => name.endsWith(".md") && name !== "README.md")
  .map((name) => readBenchmark(join(DOCS, "benchmarks", name)))
  // GPUs before CPUs.
  .sort((a, b) => Number(/nvidia/i.test(b.device)) - Number(/nvidia/i.test(a.device)));

const reference = join(DOCS, "api/typedoc-sidebar.json");

const START = [
  ...[
    "quick-start",
    "generate",
    "longer",
    "fewer-calls",
    "precision",
    "cpu-math",
    "lora",
    "resume",
    "memory",
    "options",
  ],
  ...["live", "studio", "api", "serving", "gallery", "hosts", "troubleshooting"],
];
/** Come first of those that no other part of the sidebar has. */
const FIRST_ADVANCED = ["architecture", "ops", "vae", "profiling", "tensorrt", "environment"];
const ELSEWHERE = ["index", "packages", "comparison", ...START, ...FIRST_ADVANCED];
const advanced = [
  ...FIRST_ADVANCED,
  ...readdirSync(DOCS)
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length))
    .filter((name) => !ELSEWHERE.includes(name)),
];

const sidebar: DefaultTheme.SidebarItem[] = [
  { text: "Start", items: START.map((name) => page(`${name}.md`)) },
  {
    text: "Benchmarks",
    items: [
      ...benchmarks.map(({ slug, device, factor }) => ({
        text: factor === undefined ? device : `${device}: ${factor}`,
        link: `/benchmarks/${slug}`,
      })),
      { text: "How they are measured", link: "/benchmarks/" },
      page("comparison.md"),
    ],
  },
  { text: "Packages", items: [page("packages.md", "Which is for what"), ...readmesIn("packages")] },
  {
    text: "Programs and models",
    items: [...readmesIn("apps"), ...readmesIn("models"), { text: "Examples", link: "/examples/" }],
  },
  {
    text: "Reference",
    collapsed: true,
    items: existsSync(reference) ? JSON.parse(readFileSync(reference, "utf8")) : [],
  },
  {
    text: "Advanced",
    collapsed: true,
    items: [
      ...advanced.map((name) => page(`${name}.md`)),
      { text: "Ops", collapsed: true, items: pagesIn("ops") },
      { text: "Kernels' history", collapsed: true, items: pagesIn("kernels") },
      { text: "Contributing", link: "/CONTRIBUTING" },
      { text: "Security", link: "/SECURITY" },
    ],
  },
];

/** What lies below the root and is no page. */
const NO_PAGES = ["node_modules", "dist", "build", ".github", ".changeset", "fixtures", "reports", "tooling"];

/** Path of a page of the site, by its file's path from the root. */
const rewritten = (file: string) => file.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md");

/** Address of a Markdown file of the repository, or of a folder that has a README; undefined for what is no page. */
function addressOf(path: string): string | undefined {
  if (path === "README.md" || path === "") return "/";
  const file = existsSync(join(ROOT, path, "README.md")) ? `${path}/README.md` : path;
  if (file.endsWith("-charts.html")) return `/${rewritten(file)}`;
  const isPage = file.endsWith(".md") && !file.split("/").some((part) => NO_PAGES.includes(part));
  return isPage ? link(rewritten(file)) : undefined;
}

/** Pages outside docs have no Vue above them: it is looked for from here. */
const vueForAllPages: Plugin = {
  name: "vue-for-all-pages",
  enforce: "pre",
  resolveId(id, importer, options) {
    const isOutside = importer?.endsWith(".md") === true && !importer.startsWith(DOCS);
    if (!isOutside || !/^vue(\/|$)/.test(id)) return undefined;
    return this.resolve(id, join(DOCS, "index.md"), { ...options, skipSelf: true });
  },
};

export default defineConfig({
  title: "vd",
  description: "Video diffusion in Node.js at the speed of the hardware.",
  base: process.env.VD_SITE_BASE ?? "/",
  srcDir: "..",
  srcExclude: [...NO_PAGES.map((name) => `**/${name}/**`), "README.md", "**/CHANGELOG.md"],
  outDir: "../build/site",
  cacheDir: "../build/site-cache",
  rewrites: rewritten,
  cleanUrls: true,
  ignoreDeadLinks: [/-charts(\.html)?$/],
  vite: {
    publicDir: join(DOCS, "assets"),
    plugins: [vueForAllPages],
  },
  markdown: {
    config: (md) => {
      repositoryLinks(md, { root: ROOT, addressOf });
      wholeWords(md);
    },
  },
  head: [["link", { rel: "icon", href: "data:," }]],
  themeConfig: {
    nav: [
      { text: "Quick start", link: "/quick-start" },
      { text: "Live", link: "/live" },
      { text: "Gallery", link: "/gallery" },
      { text: "Benchmarks", link: `/benchmarks/${benchmarks[0]?.slug ?? ""}` },
      { text: "Packages", link: "/packages" },
      { text: "Reference", link: "/api/" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    footer: { message: "Apache-2.0. No figure here that was not measured; each page says with which command." },
  },
  transformPageData(data) {
    const [folder] = data.relativePath.replace(/^docs\//, "").split("/");
    // Tables of results take the outline's place.
    if (folder === "benchmarks") Object.assign(data.frontmatter, { aside: false, pageClass: "results" });
    if (folder === "ops") data.frontmatter.pageClass = "op";
    if (data.relativePath !== "index.md") return;
    const fastest = benchmarks.find(({ headline }) => headline !== undefined);
    if (fastest)
      data.frontmatter.hero.tagline = `${data.frontmatter.hero.tagline} ${fastest.device}: ${fastest.headline}.`;
  },
  buildEnd({ outDir }) {
    for (const name of readdirSync(join(DOCS, "benchmarks")).filter((name) => name.endsWith(".html")))
      copyFileSync(join(DOCS, "benchmarks", name), join(outDir, "benchmarks", name));
    console.log(`site: ${relative(ROOT, outDir)}`);
  },
});
