// All runbooks as HTML, by name; a chunk of its own, because most visits open none.

const files = import.meta.glob<string>("../../../docs/operate/runbooks/*.md", { eager: true, import: "default" });

export const RUNBOOKS: Record<string, string> = Object.fromEntries(
  Object.entries(files).map(([path, html]) => [path.replace(/^.*\/|\.md$/g, ""), html]),
);
