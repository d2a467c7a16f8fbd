// The frame around every page: navigation, connection state, notices, and the demo bar in a demo.

import { useEffect, useRef, useState } from "react";
import { linkTo, type Address } from "./address";
import { DemoBar } from "./demo/bar";
import { fleetNotices } from "./fleet-notices";
import { roughSpan } from "./format";
import { useAddress, useLive, useSettings, useTheme } from "./hooks";
import { live } from "./live";
import { MapPage } from "./map/page";
import { FleetPage } from "./pages/fleet";
import { IncidentPage } from "./pages/incident";
import { IncidentsPage } from "./pages/incidents";
import { JobPage } from "./pages/job";
import { JobsPage } from "./pages/jobs";
import { NodePage } from "./pages/node";
import { NodesPage } from "./pages/nodes";
import { NowPage } from "./pages/now";
import { RunbookPage, RunbooksPage } from "./pages/runbooks";
import { SlosPage } from "./pages/slos";
import { More } from "./parts/more";
import { Notices, ProblemNote, TokenForm } from "./parts/notices";
import { choose } from "./settings";

interface PageLink {
  word: string;
  href: string;
  pages: Address["page"][];
  /** A narrow screen has room for six entries: these links are in the menu "More". */
  inMore?: true;
}

const LINKS: PageLink[] = [
  { word: "Now", href: linkTo.now(), pages: ["now"] },
  { word: "Map", href: linkTo.map(), pages: ["map"] },
  { word: "Fleet", href: linkTo.fleet(), pages: ["fleet"], inMore: true },
  { word: "Nodes", href: linkTo.nodes(), pages: ["nodes", "node"] },
  { word: "Incidents", href: linkTo.incidents(), pages: ["incidents", "incident", "runbooks", "runbook"] },
  { word: "Jobs", href: linkTo.jobs(), pages: ["jobs", "job"] },
  { word: "SLOs", href: linkTo.slos(), pages: ["slos"], inMore: true },
];

export function App() {
  const address = useAddress();
  const theme = useTheme();
  const fleet = useLive((state) => state.fleet);
  const link = useLive((state) => state.link);
  const problem = useLive((state) => state.problem);
  // A server that requires a token is not a lost connection.
  const asks = problem !== null && (problem.status === 401 || (problem.status === 403 && fleet === null));
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const place = `${address.page}/${address.id}`;

  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);

  // A new page opens at its top, and the keyboard focus moves there.
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);

  useEffect(() => {
    const word = address.id === "" ? (LINKS.find((link) => link.pages.includes(address.page))?.word ?? "Now") : address.id;
    document.title = `${word} · ${fleet === null ? "" : `${fleet.name} · `}Mainstay`;
  }, [address, fleet?.name]);

  return (
    <>
      <a className="skip" href="#main" onClick={(event) => skipTo(event, main.current)}>
        Skip to main content
      </a>
      <header className="top">
        <a className="brand" href={linkTo.now()} title="Go to the Now page">
          <img src="./icon.svg" alt="" width="24" height="24" />
          <span>Mainstay</span>
          {fleet === null || fleet.demo !== null ? null : <span className="brand-fleet">{fleet.name}</span>}
        </a>
        <nav aria-label="Pages">
          {LINKS.map(({ word, href, pages, inMore }) => (
            <a key={word} href={href} className={inMore === true ? "wide-only" : undefined} aria-current={pages.includes(address.page) ? "page" : undefined}>
              {word}
              {word === "Incidents" && (fleet?.incidentsOpen ?? 0) > 0 ? <span className="badge">{fleet?.incidentsOpen}</span> : null}
            </a>
          ))}
          <More key={place} links={LINKS.filter(({ inMore }) => inMore === true)} page={address.page} />
        </nav>
        <div className="top-end">
          {asks ? null : <LinkState />}
          <ThemeToggle />
        </div>
      </header>
      {fleet?.demo == null ? null : <DemoBar demo={fleet.demo} now={fleet.now} />}
      {fleet === null ? null : <Notices notices={fleetNotices(fleet, Date.now())} />}
      <main id="main" ref={main} tabIndex={-1} data-page={address.page}>
        {link === "lost" && fleet !== null && problem !== null && problem.status >= 402 ? <ProblemNote problem={problem} /> : null}
        {asks ? <TokenForm problem={problem} /> : <PageOf address={address} />}
      </main>
    </>
  );
}

function skipTo(event: React.MouseEvent, target: HTMLElement | null): void {
  event.preventDefault();
  target?.focus();
}

function PageOf({ address }: { address: Address }) {
  switch (address.page) {
    case "now":
      return <NowPage />;
    case "map":
      return <MapPage />;
    case "fleet":
      return <FleetPage />;
    case "nodes":
      return <NodesPage />;
    case "node":
      return <NodePage name={address.id} />;
    case "incidents":
      return <IncidentsPage />;
    case "incident":
      return <IncidentPage id={address.id} />;
    case "jobs":
      return <JobsPage />;
    case "job":
      return <JobPage id={address.id} />;
    case "slos":
      return <SlosPage />;
    case "runbooks":
      return <RunbooksPage />;
    case "runbook":
      return <RunbookPage name={address.id} />;
  }
}

/** The page reports a missing stream after this time. An idle server sends a keep-alive every 15 s. */
const STALE_AFTER_MS = 20_000;

function LinkState() {
  const link = useLive((state) => state.link);
  const quiet = useLive((state) => (state.fleet?.cluster?.staleSince ?? null) !== null);
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const age = Math.max(0, now - live().lastEventAt);
  const lost = link !== "live" || age > STALE_AFTER_MS;
  const stale = lost || quiet;
  const text =
    link === "connecting" && age < STALE_AFTER_MS ? "Connecting" : lost ? `No data for ${roughSpan(age)}` : quiet ? "API server not responding" : "Live";
  return (
    <span className="link-state" data-stale={stale && link !== "connecting"} role="status">
      <span aria-hidden="true" className="link-dot" />
      {text}
    </span>
  );
}

const NEXT_THEME = { system: "light", light: "dark", dark: "system" } as const;

function ThemeToggle() {
  const { theme } = useSettings();
  const word = theme === "system" ? "Auto" : theme === "light" ? "Light" : "Dark";
  return (
    <button
      type="button"
      className="quiet theme-toggle"
      onClick={() => choose({ theme: NEXT_THEME[theme] })}
      aria-label={`Theme: ${word}. Change theme`}
      title={`Theme: ${word}`}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
        {theme === "system" ? <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" /> : null}
        {theme === "dark" ? <circle cx="8" cy="8" r="5.5" fill="currentColor" /> : null}
      </svg>
    </button>
  );
}
