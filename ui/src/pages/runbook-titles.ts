// Titles of all runbooks, by name. Their texts are files of their own, because most visits open none.

const files = import.meta.glob<string>(["../../../docs/operate/runbooks/*.md", "!../../../docs/operate/runbooks/README.md"], { eager: true, import: "default" });

export const TITLES: Record<string, string> = Object.fromEntries(
  Object.entries(files).map(([path, title]) => [path.replace(/^.*\/|\.md$/g, ""), title]),
);
