// Screen 1: the threads of the owner and the recorded sessions in one list.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ThreadRow, ThreadRows } from "./api";
import { agentName, count, money, moment, short, when } from "./format";
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

export function Threads({ words }: { words: string }) {
  const [typed, setTyped] = useState(words);
  const [agent, setAgent] = useState("");
  const [more, setMore] = useState<ThreadRows[]>([]);
  const q = useSettled(typed, SETTLE_MS);
  const url = `api/page/threads?limit=${PAGE}&q=${encodeURIComponent(q)}`;
  const { data, error, reload } = useData<ThreadRows>(url);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setMore([]), [url]);
  useEffect(() => {
    if (q !== words) go(q ? `/?q=${encodeURIComponent(q)}` : "/", true);
  }, [q]);
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
  const all = data ? [...data.items, ...more.flatMap((page) => page.items)] : [];
  const cursor = (more.at(-1) ?? data)?.before;
  const agents = [...new Set(all.map((row) => row.agent))].sort();
  const shown = all.filter((row) => agent === "" || (agent === "own" ? row.agent === "" : row.agent === agent));
  return (
    <main id="main" class="threads" tabIndex={-1}>
      <header class="section-head"><h1>Threads</h1><a class="button" href="#/new">New thread</a></header>
      <div class="controls" role="search">
        <input ref={input} type="search" value={typed} placeholder="Search words in all threads" aria-label="Search words in all threads"
          onInput={(event) => setTyped(event.currentTarget.value)} />
        {agents.length > 1 && (
          <select aria-label="Whose threads" value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
            <option value="">All agents</option>
            {agents.map((name) => (
              <option key={name} value={name || "own"}>{name ? agentName(name) : "This gateway"}</option>
            ))}
          </select>
        )}
      </div>
      {error && <Problem error={error} retry={reload} />}
      {!data && !error && <Loading what="threads" />}
      {data && shown.length === 0 && <Empty q={q} />}
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
  const project = row.project.split("/").filter(Boolean).at(-1);
  const about = [row.agent ? agentName(row.agent) : "This gateway", project, row.model].filter(Boolean);
  return (
    <tr>
      <th scope="row">
        <a href={row.position !== null && row.passage ? `${address}?at=${row.position}` : address}>{row.title || row.id}</a>
        {row.run && <span class="tag live">running</span>}
        <span class="about" title={row.project}>{about.join(" · ")}</span>
        {row.passage && <span class="passage"><Marked text={around(row.passage, q)} words={q} /></span>}
      </th>
      <td title={moment(row.updated)} class="time">{when(row.updated)}</td>
      <td class="num" data-label="messages">{count(row.messages)}</td>
      <td class="num" data-label={row.changes === 1 ? "change" : "changes"}>{row.changes ? count(row.changes) : <span class="quiet">–</span>}</td>
      <td class="context"><Fill tokens={row.tokens} window={row.window} /><span class="fill-number">{row.tokens ? short(row.tokens) : ""}</span></td>
      <td class="num cost">{money(row.cost, row.currency)}</td>
    </tr>
  );
}

const Empty = ({ q }: { q: string }) =>
  q ? (
    <p class="empty">No thread has these words.</p>
  ) : (
    <div class="empty">
      <p>There are no threads yet.</p>
      <p><code>thalweg record import</code> adds the sessions of Claude Code, Codex and other agents of this machine.</p>
    </div>
  );
