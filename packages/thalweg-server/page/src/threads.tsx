// Screen 1: the threads of the owner and the recorded sessions in one list.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ThreadRow, ThreadRows } from "./api";
import { agentName, count, money, moment, plural, projectName, short, when } from "./format";
import { go, useData, useSettled } from "./hooks";
import { send } from "./http";
import { Fill, Loading, Marked, Problem } from "./parts";

const PAGE = 50;
const SETTLE_MS = 250;

/** The text around the first hit, on one line. */
function around(text: string, words: string): string {
  const flat = text.replace(/\s+/g, " ");
  const first = words.trim().split(/\s+/)[0]?.toLowerCase() ?? "";
  const hit = Math.max(0, flat.toLowerCase().indexOf(first) - 60);
  return `${hit ? "… " : ""}${flat.slice(hit, hit + 220)}`;
}

interface Filter {
  q: string;
  agent: string;
  project: string;
  compacted: string;
}
const EMPTY: Filter = { q: "", agent: "", project: "", compacted: "" };

/** The set fields as the query of an address. */
const queryOf = (filter: Filter): string => new URLSearchParams(Object.entries(filter).filter(([, value]) => value)).toString();

/** The fields of an address; it may have others, which are none of a filter. */
function filterOf(query: URLSearchParams): Filter {
  const field = (name: keyof Filter) => query.get(name) ?? "";
  return { q: field("q"), agent: field("agent"), project: field("project"), compacted: field("compacted") };
}

export function Threads({ query }: { query: URLSearchParams }) {
  const [filter, setFilter] = useState<Filter>(() => filterOf(query));
  const [more, setMore] = useState<ThreadRows[]>([]);
  const named = query.toString();
  const settled = useSettled(queryOf(filter), SETTLE_MS);
  const url = `api/page/threads?limit=${PAGE}&${settled}`;
  const { data, error, reload } = useData<ThreadRows>(url);
  const newest = useRef<ThreadRows | undefined>(undefined);
  newest.current = data ?? newest.current;
  const input = useRef<HTMLInputElement>(null);
  const choose = (field: keyof Filter) => (event: { currentTarget: { value: string } }) => setFilter({ ...filter, [field]: event.currentTarget.value });
  useEffect(() => setMore([]), [url]);
  useEffect(() => {
    if (settled !== named) go(settled ? `/?${settled}` : "/", true);
  }, [settled]);
  useEffect(() => {
    if (named !== settled) setFilter(filterOf(query)); // a link or the history changed the address
  }, [named]);
  useEffect(() => {
    document.title = "Threads – Thalweg";
    const slash = (event: KeyboardEvent) => {
      if (event.key === "/" && !(event.target as Element).matches("input, textarea")) {
        event.preventDefault();
        input.current?.focus();
      }
    };
    window.addEventListener("keydown", slash);
    return () => window.removeEventListener("keydown", slash);
  }, []);
  const shown = data ? [...data.items, ...more.flatMap((page) => page.items)] : [];
  const cursor = (more.at(-1) ?? data)?.before;
  const { agents = [], projects = [] } = newest.current ?? {};
  const { q } = filter;
  return (
    <main id="main" class="threads" tabIndex={-1}>
      <header class="section-head"><h1>Threads</h1><a class="button" href="#/new">New thread</a></header>
      <div class="controls" role="search">
        <input ref={input} type="search" value={q} placeholder="Search words in all threads" aria-label="Search words in all threads" onInput={choose("q")} />
        {agents.length > 1 && (
          <select aria-label="Agent" value={filter.agent} onChange={choose("agent")}>
            <option value="">All agents</option>
            {agents.map((name) => <option key={name} value={name}>{agentName(name)}</option>)}
          </select>
        )}
        {projects.length > 1 && (
          <select class="project" aria-label="Project" value={filter.project} onChange={choose("project")}>
            <option value="">All projects</option>
            {projects.map((name) => <option key={name} value={name}>{projectName(name)}</option>)}
          </select>
        )}
        <select aria-label="Changes of the context" value={filter.compacted} onChange={choose("compacted")}>
          <option value="">Compacted or not</option>
          <option value="true">Compacted</option>
        </select>
      </div>
      {error && <Problem error={error} retry={reload} />}
      {!data && !error && <Loading what="threads" />}
      {data && shown.length === 0 && <Empty isFiltered={settled !== ""} reset={() => setFilter(EMPTY)} />}
      {shown.length > 0 && (
        <div class="table-box">
          <table class="list">
            <caption class="unseen">{q ? `Threads with “${q}”` : "Threads, the one that was used last first"}</caption>
            <thead>
              <tr>
                <th scope="col">Title</th>
                <th scope="col">Used</th>
                <th scope="col" class="num">Messages</th>
                <th scope="col" class="num">Changes</th>
                <th scope="col">Context</th>
                <th scope="col" class="num">Cost</th>
              </tr>
            </thead>
            <tbody>{shown.map((row) => <Row key={row.id} row={row} q={q} />)}</tbody>
          </table>
        </div>
      )}
      {cursor && (
        <p class="more">
          <button type="button" onClick={async () => setMore([...more, await send<ThreadRows>(`${url}&before=${encodeURIComponent(cursor)}`)])}>
            Older threads
          </button>
        </p>
      )}
    </main>
  );
}

function Row({ row, q }: { row: ThreadRow; q: string }) {
  const address = `#/thread/${encodeURIComponent(row.id)}`;
  const about = [agentName(row.agent || "own"), projectName(row.project), row.model].filter(Boolean);
  return (
    <tr>
      <th scope="row">
        <a href={row.position !== null && row.passage ? `${address}?at=${row.position}` : address} title={row.title}>{row.title || row.id}</a>
        {row.run && <span class="tag live">running</span>}
        <span class="about" title={row.project}>
          {about.join(" · ")}
          {row.lost > 0 && <a class="tag bad" href={`${address}/changes`} title="Requests of yours that neither its summaries nor its later messages have">{plural(row.lost, "request")} lost</a>}
        </span>
        {row.passage && <span class="passage"><Marked text={around(row.passage, q)} words={q} /></span>}
      </th>
      <td title={moment(row.updated)} class="time">{when(row.updated)}</td>
      <td class="num" data-label="messages">{count(row.messages)}</td>
      <td class="num" data-label={row.changes === 1 ? "change" : "changes"}>
        {row.changes ? <a href={`${address}/changes`} title="What was removed, why, and undo" aria-label={plural(row.changes, "change")}>{count(row.changes)}</a> : <span class="quiet">–</span>}
      </td>
      <td class="context">
        {row.tokens > 0 && <a href={`${address}/request`} title="What the model saw"><Fill tokens={row.tokens} window={row.window} /><span class="fill-number">{short(row.tokens)}</span></a>}
      </td>
      <td class="num cost">{row.cost === null ? <span class="quiet">–</span> : <a href={`${address}/changes`} title="What the money was for">{money(row.cost, row.currency)}</a>}</td>
    </tr>
  );
}

const Empty = ({ isFiltered, reset }: { isFiltered: boolean; reset: () => void }) =>
  isFiltered ? (
    <div class="empty">
      <p>No thread has these words and filters.</p>
      <p><button type="button" onClick={reset}>Show all threads</button></p>
    </div>
  ) : (
    <div class="empty">
      <p>There are no threads yet.</p>
      <p><code>thalweg record import</code> adds the sessions of Claude Code, Codex and other agents of this machine.</p>
    </div>
  );
