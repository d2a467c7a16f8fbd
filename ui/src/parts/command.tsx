// The command for an action, shown instead of a form where the page is read-only.

export function CommandHint({ command }: { command: string }) {
  return (
    <p className="row-text">
      This page is read-only. On the command line: <code>{command}</code>
    </p>
  );
}
