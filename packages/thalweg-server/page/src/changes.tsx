// Screen 4: what was changed and what it saved; what is lost, and how to have it back.
import { useState } from "preact/hooks";
import type { Call, Change, Done, Edit, LostRequest, Overview, Thread as ThreadShape } from "./api";
import { CostChart, TokensChart } from "./charts";
import { agentName, count, gain, money, moment, plural, when } from "./format";
import { go } from "./hooks";
import { GatewayError, path, send } from "./http";
import { copy, Dialog, Figure } from "./parts";
import { Originals } from "./requests";
import { toCall, type ThreadProps } from "./thread";

const KINDS: Record<string, string> = {
  compaction: "Compaction",
  clearing: "Cleared",
  undo: "Undone by hand",
  rewind: "Rewound",
  pin: "Pinned",
  unpin: "Unpinned",
  compact: "Compacted by hand",
};
const EDITS: Record<string, [string, string]> = {
  evict: ["result cleared", "results cleared"],
  elide: ["call's arguments cleared", "calls' arguments cleared"],
  supersede: ["stale read cleared", "stale reads cleared"],
  strip: ["message without its reasoning", "messages without their reasoning"],
  fold: ["compaction", "compactions"],
  pin: ["pinned", "pinned"],
  unpin: ["unpinned", "unpinned"],
};

export function Changes({ overview, chosen, choose, reload }: ThreadProps) {
  const { thread, calls, changes, lost, saved } = overview;
  const [note, setNote] = useState("");
  if (!calls.length) return <p class="empty">Nothing was sent yet, so nothing was changed.</p>;
  const chart = { calls, changes, chosen, choose };
  return (
    <section class="changes" aria-label="Changes and cost">
      <p class="answer">{answer(overview)}</p>
      <Why calls={calls} currency={thread.currency} saved={saved} />
      {lost.length > 0 && <Lost overview={overview} say={setNote} />}
      <TokensChart {...chart} />
      <CostChart {...chart} currency={thread.currency} />
      <p class="quiet">
        A click on a chart chooses a call; <button type="button" class="link" onClick={() => calls[chosen] && toCall(thread.id, calls[chosen].turn)}>see call {calls[chosen]?.turn} as the model saw it</button>.
      </p>
      <h2>Changes of the context</h2>
      {changes.length === 0 && <p class="empty">Nothing was changed: every call sent the whole thread.</p>}
      {changes.length > 0 && (
        <ol class="timeline">
          {[...changes].reverse().map((change, k) => (
            <ChangeRow key={`${change.turn}-${change.kind}-${changes.length - k}`} change={change} overview={overview} reload={reload} say={setNote} />
          ))}
        </ol>
      )}
      <p class="toast" role="status">{note}</p>
    </section>
  );
}

function answer({ thread, calls, changes, saved }: Overview): string {
  const cost = money(thread.cost, thread.currency);
  const compactions = changes.filter((one) => one.kind === "compaction").length;
  if (thread.cost === null) return `The cost of this thread is unknown: there is no price for ${thread.model || "its model"}.`;
  if (saved === null || compactions + changes.length === 0) return `This thread cost ${cost} in ${plural(calls.length, "call")}.`;
  const whole = money(calls.reduce((sum, call) => sum + (call.cost ?? 0), 0) + saved, thread.currency);
  return `This thread cost ${cost} in ${plural(calls.length, "call")}; sending everything would have cost about ${whole}.`;
}

/** What the money was for. */
function Why({ calls, currency, saved }: { calls: Call[]; currency: string; saved: number | null }) {
  const sum = (of: (call: Call) => number | null) => calls.reduce((total, call) => total + (of(call) ?? 0), 0);
  const input = sum((call) => call.input_tokens);
  const cached = sum((call) => call.cached_tokens);
  const output = sum((call) => call.output_tokens);
  const dearest = calls.reduce((most, call) => ((call.cost ?? 0) > (most.cost ?? 0) ? call : most), calls[0]!);
  return (
    <dl class="figures">
      <Figure name="Read again from the cache" value={count(cached)} about={`tokens, ${input ? Math.round((100 * cached) / input) : 0}% of the input`} />
      <Figure name="Read at the full price" value={count(input - cached)} about="tokens" />
      <Figure name="Written by the model" value={count(output)} about={calls.some((call) => call.is_output_counted) ? "tokens, counted: the log states only the first of many answers, and the cost has those alone" : "tokens"} />
      <Figure name="Dearest call" value={money(dearest.cost, currency)} about={`call ${dearest.turn}, ${count(dearest.tokens)} tokens`} />
      {saved !== null && <Figure name="Saved by changes" value={gain(saved, currency)} tone={saved > 0 ? "good" : undefined} about="compared with sending everything" />}
    </dl>
  );
}

function Lost({ overview, say }: { overview: Overview; say: (note: string) => void }) {
  const { lost, thread, requests } = overview;
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<LostRequest | undefined>();
  const shown = all || lost.length <= 6 ? lost : lost.slice(0, 5);
  const give = async () => {
    const text = `Requests of mine that left your context:\n\n${lost.map((one) => `- ${one.text.trim()}`).join("\n\n")}\n`;
    say((await copy(text)) ? `${plural(lost.length, "request")} copied; paste them into the agent.` : "The browser does not allow copying.");
  };
  return (
    <section class="lost" id="lost">
      <header>
        <h2>Requests that {agentName(thread.agent)} lost</h2>
        <button type="button" onClick={give}>Copy for the agent</button>
      </header>
      <p class="quiet">{count(lost.length)} of {plural(requests, "request")}: no summary has them, and no later message. The archive has every word.</p>
      <ol>
        {shown.map((one) => (
          <li key={one.position}>
            <button type="button" class="link words" onClick={() => setOpen(one)}>{one.text.replace(/\s+/g, " ").slice(0, 180)}</button>
            <span class="quiet">of {when(one.at)}, gone since call {count(one.turn)}</span>
          </li>
        ))}
      </ol>
      {lost.length > shown.length && <button type="button" class="link" onClick={() => setAll(true)}>Show all {count(lost.length)}</button>}
      {open && <Originals thread={thread.id} first={open.position} last={open.position} close={() => setOpen(undefined)} />}
    </section>
  );
}

function title(change: Change): string {
  if (change.kind !== "clearing") return KINDS[change.kind] ?? change.kind;
  const kinds = new Map<string, number>();
  for (const edit of change.edits) kinds.set(edit.kind, (kinds.get(edit.kind) ?? 0) + 1);
  // Content that was removed and read again returns to the context.
  if (change.tokens_after > change.tokens_before) return plural(change.edits.length, "message shown again", "messages shown again");
  return [...kinds].map(([kind, n]) => plural(n, ...(EDITS[kind] ?? [kind, kind]))).join(", ");
}

/** The reason in two amounts of money. */
function why(change: Change, currency: string): string {
  const { reason, reread, price, note } = change;
  if (reread !== null && price !== null && reread > 0) {
    const calls = Math.max(1, Math.ceil(price / reread));
    const pays = price <= 0 ? "dropping it costs nothing" : `dropping it costs ${money(price, currency)} once, as much as ${plural(calls, "call")} of reading`;
    return `${capital(reason)}: reading it again costs ${money(reread, currency)} a call, ${pays}.`;
  }
  return reason ? `${capital(reason)}.` : note;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

interface ChangeProps {
  change: Change;
  overview: Overview;
  reload: () => void;
  say: (note: string) => void;
}

function ChangeRow({ change, overview, reload, say }: ChangeProps) {
  const { thread } = overview;
  const [isOpen, setOpen] = useState(false);
  const [original, setOriginal] = useState<{ first: number; last: number } | undefined>();
  const [asks, setAsks] = useState<"rewind" | undefined>();
  const freed = change.tokens_before - change.tokens_after;
  const act = async (url: string, body: unknown, done: string) => {
    try {
      await send<Done>(url, { body });
      say(done);
      reload();
    } catch (error) {
      if (error instanceof GatewayError) say(error.message);
    }
  };
  const branch = async () => {
    try {
      const made = await send<ThreadShape>(path`api/threads/${thread.id}/branch`, { body: { turn: change.turn } });
      go(`/thread/${encodeURIComponent(made.id)}`);
    } catch (error) {
      if (error instanceof GatewayError) say(error.message);
    }
  };
  const most = Math.max(change.tokens_before, 1);
  const isOwn = !thread.agent;
  return (
    <li class={`change ${change.kind}${change.is_current ? "" : " abandoned"}`}>
      <div class="head">
        <span class="at">call {count(change.turn)}<span class="quiet" title={moment(change.at)}>{when(change.at)}</span></span>
        <div class="what">
          <h3>{title(change)}{!change.is_current && <span class="tag">abandoned</span>}</h3>
          <p>{why(change, thread.currency)}</p>
          {freed < 0 && <p>{count(-freed)} tokens more in each call.</p>}
          {freed > 0 && (
            <div class="shrink" role="img" aria-label={`${count(change.tokens_before)} tokens before, ${count(change.tokens_after)} after`}>
              <span class="before"><i style={{ width: `${(100 * change.tokens_after) / most}%` }} /></span>
              <span class="text">{count(change.tokens_before)} → {count(change.tokens_after)} tokens</span>
            </div>
          )}
        </div>
        <dl class="gains">
          {change.realised !== null && (
            <>
              <div><dt>predicted</dt><dd>{gain(change.predicted, thread.currency)}<span class="quiet"> after {plural(change.predicted_calls, "call")}</span></dd></div>
              <div><dt>so far</dt><dd class={change.realised >= 0 ? "good" : "bad"}>{gain(change.realised, thread.currency)}<span class="quiet"> after {plural(change.calls, "call")}</span></dd></div>
            </>
          )}
        </dl>
      </div>
      <div class="actions">
        {(change.edits.length > 0 || change.summary) && (
          <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? "Hide details" : "Before and after"}</button>
        )}
        {change.last !== null && <button type="button" class="link" onClick={() => setOriginal({ first: Math.max(0, change.last! - 199), last: change.last! })}>What was removed</button>}
        <button type="button" class="link" onClick={() => toCall(thread.id, change.turn)}>The request</button>
        {isOwn && change.can_undo && <button type="button" class="act" onClick={() => act(`${path`api/threads/${thread.id}/undo`}?turn=${change.turn}`, null, "Undone: the next call has these messages again.")}>Undo</button>}
        {isOwn && change.is_current && <button type="button" class="link" onClick={() => setAsks("rewind")}>Rewind to here</button>}
        {isOwn && <button type="button" class="link" onClick={branch}>Branch from here</button>}
      </div>
      {isOpen && <Details change={change} open={(position) => setOriginal({ first: position, last: position })} />}
      {original && <Originals thread={thread.id} canPin={isOwn} {...original} close={() => setOriginal(undefined)} />}
      {asks && (
        <Dialog title={`Rewind to call ${change.turn}`} close={() => setAsks(undefined)}>
          <p>The next run continues as if nothing after this call had happened. Later messages remain in the archive, marked as abandoned.</p>
          <p class="buttons"><button type="button" class="act" onClick={() => { setAsks(undefined); void act(path`api/threads/${thread.id}/rewind`, { turn: change.turn }, "Rewound."); }}>Rewind</button></p>
        </Dialog>
      )}
    </li>
  );
}

function Details({ change, open }: { change: Change; open: (position: number) => void }) {
  const own = change.edits.filter((edit) => edit.kind !== "fold");
  return (
    <div class="details">
      {own.length > 0 && (
        <table>
          <thead><tr><th scope="col">Message</th><th scope="col">Change</th><th scope="col">Reason</th><th scope="col" class="num">Tokens before</th><th scope="col" class="num">after</th></tr></thead>
          <tbody>{own.map((edit, k) => <EditRow key={k} edit={edit} open={open} />)}</tbody>
        </table>
      )}
      {change.summary && (
        <>
          <h4>The summary that replaced them</h4>
          <pre class="open" dir="auto">{change.summary}</pre>
        </>
      )}
    </div>
  );
}

const EditRow = ({ edit, open }: { edit: Edit; open: (position: number) => void }) => (
  <tr>
    <td><button type="button" class="link" onClick={() => open(edit.position)}>#{edit.position}</button></td>
    <td>{EDITS[edit.kind]?.[0] ?? edit.kind}</td>
    <td>{edit.reason}</td>
    <td class="num">{count(edit.tokens_before)}</td>
    <td class="num">{count(edit.tokens_after)}</td>
  </tr>
);
