// Runbooks become HTML when the page is built, so that the browser needs no Markdown parser and an operator no other server.

import { basename } from "node:path";
import { marked } from "marked";
import type { Plugin } from "vite";

/** A link to another runbook opens its page. Other files of the docs are not part of the program: their links are text. */
function href(target: string): string | null {
  const runbook = /^([a-z0-9-]+)\.md(#.*)?$/.exec(target);
  if (runbook !== null) return `#/runbooks/${runbook[1]}`;
  return target.startsWith("https://") ? target : null;
}

export function toHtml(text: string): string {
  const renderer = new marked.Renderer();
  renderer.link = function ({ href: target, tokens }) {
    const inner = this.parser.parseInline(tokens);
    const to = href(target);
    return to === null ? inner : `<a href="${to}">${inner}</a>`;
  };
  // A wide table or a long command scrolls, and the keyboard reaches it.
  const table = renderer.table;
  renderer.table = function (token) {
    return `<div class="scroll" tabindex="0" role="group" aria-label="Table">${table.call(this, token)}</div>\n`;
  };
  renderer.code = ({ text: code }) => `<pre tabindex="0"><code>${escape(code)}</code></pre>\n`;
  return marked.parse(text, { renderer, async: false });
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function title(html: string): string {
  return /<h1>(.*?)<\/h1>/.exec(html)?.[1]?.replace(/<[^>]+>/g, "") ?? "";
}

/** The import of a runbook is its title. Its text becomes the file `runbooks/NAME.html` beside the page. */
export function markdown(): Plugin {
  const pages = new Map<string, string>();
  return {
    name: "markdown",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith(".md")) return null;
      const html = toHtml(code);
      pages.set(`runbooks/${basename(id, ".md")}.html`, html);
      return { code: `export default ${JSON.stringify(title(html))};`, map: null };
    },
    generateBundle() {
      for (const [fileName, source] of pages) this.emitFile({ type: "asset", fileName, source });
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const page = pages.get((request.url ?? "").slice(1));
        if (page === undefined) next();
        else response.setHeader("content-type", "text/html; charset=utf-8").end(page);
      });
    },
  };
}
