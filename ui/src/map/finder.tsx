// The search field of the map: finds a node by part of its name and centres it.

import { useId, useState } from "react";

export function Finder({ names, found }: { names: string[]; found: (name: string) => void }) {
  const [text, setText] = useState("");
  const id = useId();
  const [missing, setMissing] = useState(false);
  const search = () => {
    const wanted = text.trim();
    if (wanted === "") return;
    const name = names.find((known) => known === wanted) ?? names.find((known) => known.includes(wanted));
    setMissing(name === undefined);
    if (name !== undefined) found(name);
  };
  return (
    <form
      className="finder"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        type="search"
        value={text}
        placeholder="Find a node"
        aria-label="Find a node"
        aria-invalid={missing}
        aria-describedby={missing ? id : undefined}
        onChange={(event) => {
          setText(event.target.value);
          setMissing(false);
        }}
        spellCheck={false}
      />
      {missing ? (
        <span id={id} className="finder-missing" role="status">
          No node name contains “{text}”
        </span>
      ) : null}
    </form>
  );
}
