// The menu "More" of the narrow navigation. It shows the name of the current page if that is one of its links.

import { useEffect, useRef } from "react";

interface Link {
  word: string;
  href: string;
  pages: string[];
}

export function More({ links, page }: { links: Link[]; page: string }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const current = links.find(({ pages }) => pages.includes(page));
  useEffect(() => {
    const close = (event: Event) => {
      if (menu.current !== null && event.target instanceof Node && !menu.current.contains(event.target)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("focusin", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("focusin", close);
    };
  }, []);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key !== "Escape" || menu.current === null) return;
    menu.current.open = false;
    menu.current.querySelector("summary")?.focus();
  };
  return (
    <details className="more" ref={menu} onKeyDown={onKeyDown}>
      <summary aria-current={current === undefined ? undefined : "page"}>
        {current?.word ?? "More"} <span aria-hidden="true">▾</span>
      </summary>
      <ul>
        {links.map(({ word, href }) => (
          <li key={word}>
            <a href={href} aria-current={word === current?.word ? "page" : undefined}>
              {word}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
