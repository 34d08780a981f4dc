// Screen 2: the conversation, and whether each message is in the context now.
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { History, HistoryItem, Overview, Thread as ThreadShape } from "./api";
import { agentName, count } from "./format";
import { go } from "./hooks";
import { path, send } from "./http";
import { useLive } from "./live";
import { Composer, PastLane, RunView } from "./run";
import { Pin, pinsOf, Unpin } from "./parts";
import { ROLES } from "./requests";
import type { ThreadProps } from "./thread";
import { VirtualList } from "./virtual";

const BLOCK = 100;
const SETTLE_MS = 250;
const RETRY_MS = 3_000;
const FORMS = { whole: "in the context", shortened: "shortened in the context", summarized: "not in the context; the summary stands for it" };

function formOf(overview: Overview, position: number): keyof typeof FORMS | undefined {
  return overview.placements.find((one) => one.first <= position && position <= one.last)?.form;
}

/** The message that this tab sent last: its text is in the history from the run's first request on. */
let newest = { thread: "", run: "", text: "" };
export const noteSent = (thread: string, run: string, text: string): void => {
  newest = { thread, run, text };
};

export function Conversation({ overview, at, reload }: ThreadProps & { at: number | undefined }) {
  const { thread } = overview;
  const isOwn = !thread.agent;
  const live = useLive(isOwn ? thread.id : undefined);
  const [length, setLength] = useState(thread.messages);
  const [blocks, setBlocks] = useState<Record<number, HistoryItem[]>>({});
  const asked = useRef(new Set<string>());
  const load = useCallback(
    (block: number) => {
      const end = Math.min(length, (block + 1) * BLOCK);
      const key = `${block}-${end}`;
      if (end <= block * BLOCK || asked.current.has(key)) return;
      asked.current.add(key);
      send<History>(`${path`api/threads/${thread.id}/history`}?limit=${end - block * BLOCK}&before=${end}&abandoned=true`).then(
        ({ items }) => setBlocks((old) => ({ ...old, ...((old[block]?.length ?? 0) < items.length && { [block]: items }) })),
        () => {
          asked.current.delete(key);
          setTimeout(() => load(block), RETRY_MS);
        },
      );
    },
    [thread.id, length],
  );
  const onRange = useCallback(
    (first: number, last: number) => {
      for (let block = Math.floor(first / BLOCK); block <= Math.floor(last / BLOCK); block++) load(block);
    },
    [load],
  );
  const stored = live.state?.stored ?? 0;
  const isEnded = live.state?.end !== undefined;
  useEffect(() => {
    if (!stored) return;
    const timer = window.setTimeout(() => {
      send<ThreadShape>(path`api/threads/${thread.id}`).then(
        ({ messages }) => setLength((old) => Math.max(old, messages)),
        () => undefined, // the next step asks again
      );
      if (isEnded) reload();
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [stored, isEnded]);
  const status = live.run && `${live.run.id} ${live.run.status}`;
  const seen = useRef<string | undefined>(undefined);
  useEffect(() => {
    // A run of another tab may have begun and ended between two looks.
    if (seen.current !== undefined && status !== seen.current) reload();
    seen.current = status ?? "";
  }, [status]);
  useEffect(() => setLength((old) => Math.max(old, thread.messages)), [thread.messages]);
  // The newest messages are needed to know what of a run is stored.
  useEffect(() => {
    if (isOwn && length) load(Math.floor((length - 1) / BLOCK));
  }, [load]);
  const known = useMemo(() => {
    const ids = Object.values(blocks).flat().map(({ message }) => (message.role === "tool" ? message.answers : message.id));
    return new Set(ids);
  }, [blocks]);
  const sent = newest.thread === thread.id && newest.text && !known.has(`${newest.run}-0`) ? newest.text : "";
  // A recorded session is read from its beginning, a thread of one's own is continued.
  const [start] = useState(at ?? (isOwn ? Math.max(0, thread.messages - 1) : undefined));
  const end = useStickyEnd(isOwn && at === undefined);
  const runOf = (position: number): string | undefined => {
    for (let k = position; k >= 0; k--) {
      const message = blocks[Math.floor(k / BLOCK)]?.[k % BLOCK]?.message;
      if (!message) return undefined;
      if (message.role === "user") return /^(.+)-\d+$/.exec(message.id)?.[1];
    }
    return undefined;
  };
  const pins = useMemo(() => pinsOf(overview.changes), [overview.changes]);
  const inContext = useMemo(
    () => overview.placements.reduce((sum, one) => sum + (one.form === "summarized" ? 0 : one.last - one.first + 1), 0),
    [overview.placements],
  );
  return (
    <section class="conversation" aria-label="Conversation">
      {!length && !isOwn && <p class="empty">No messages yet.</p>}
      {overview.placements.length > 0 && (
        <p class="quiet legend-line">
          <span class="dot whole" /> in the context <span class="dot shortened" /> shortened <span class="dot summarized" /> summarized
          <span class="spacer" />
          {count(inContext)} of {count(length)} messages are in the context{thread.agent ? ` of ${agentName(thread.agent)} as of its last call` : ""}
        </p>
      )}
      {length > 0 && (
        <VirtualList length={length} label={`Messages of the thread, ${count(length)}`} estimate={110} start={at ?? start} onRange={onRange}
          row={(position) => {
            const item = blocks[Math.floor(position / BLOCK)]?.[position % BLOCK];
            const run = item?.message.role === "tool" && item.message.name === "task" ? runOf(position) : undefined;
            return (
              <Item item={item} position={position} form={formOf(overview, position)} isTarget={position === at} pin={isOwn ? thread.id : undefined} pins={pins.get(position)} changed={reload}>
                {run && <PastLane thread={thread.id} run={run} call={item!.message.answers} />}
              </Item>
            );
          }} />
      )}
      {isOwn && <RunView live={live} known={known} sent={sent} />}
      {isOwn && <Composer thread={thread.id} live={live} started={(run, text) => { if (text) noteSent(thread.id, run.id, text); live.watch(); end.stick(); }} />}
    </section>
  );
}

const NEAR_PX = 160;

/** Keeps the end of the page in view as it grows, until the reader scrolls away from it. */
function useStickyEnd(isOn: boolean): { stick: () => void } {
  const sticks = useRef(isOn);
  useEffect(() => {
    const height = () => document.documentElement.scrollHeight;
    const moved = () => (sticks.current = window.scrollY + window.innerHeight > height() - NEAR_PX);
    const grown = new ResizeObserver(() => {
      if (sticks.current) window.scrollTo({ top: height(), behavior: "instant" });
    });
    const upwards = (event: WheelEvent) => {
      if (event.deltaY < 0) sticks.current = false;
    };
    const element = document.getElementById("main");
    if (element) grown.observe(element);
    window.addEventListener("scroll", moved, { passive: true });
    window.addEventListener("wheel", upwards, { passive: true });
    return () => {
      grown.disconnect();
      window.removeEventListener("scroll", moved);
      window.removeEventListener("wheel", upwards);
    };
  }, []);
  return { stick: () => { sticks.current = true; } };
}

/** The first message of a thread that is not there yet. */
export function NewThread() {
  const [id] = useState(() => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  const none = { run: undefined, waiting: 0, state: undefined, watch: () => undefined };
  useEffect(() => {
    document.title = "New thread – Thalweg";
  }, []);
  return (
    <main id="main" class="thread conversation" tabIndex={-1}>
      <a class="back" href="#/">Threads</a>
      <h1>New thread</h1>
      <Composer thread={id} live={none} started={(run, text) => { noteSent(id, run.id, text); go(`/thread/${id}`, true); }} />
    </main>
  );
}

interface ItemProps {
  item: HistoryItem | undefined;
  position: number;
  form: keyof typeof FORMS | undefined;
  isTarget: boolean;
  /** The thread to pin words in. */
  pin?: string | undefined;
  pins?: string[] | undefined;
  changed?: () => void;
  children?: ComponentChildren;
}

const LONG = 900;

export function Item({ item, position, form, isTarget, pin, pins, changed, children }: ItemProps) {
  const [isOpen, setOpen] = useState(false);
  if (!item) return <article class="message empty-row" aria-busy="true"><p class="quiet">#{position} …</p></article>;
  const { message } = item;
  const isTool = message.role === "tool";
  const text = message.text;
  const long = text.length > (isTool ? 300 : LONG);
  const shown = isOpen || !long ? text : `${text.slice(0, isTool ? 300 : LONG)} …`;
  const classes = ["message", message.role, form ?? "", item.is_abandoned ? "abandoned" : "", isTarget ? "target" : ""];
  return (
    <article class={classes.filter(Boolean).join(" ")}>
      <header>
        {form && !item.is_abandoned && <span class={`dot ${form}`} role="img" aria-label={FORMS[form]} title={FORMS[form]} />}
        <span class="who">{isTool ? message.name || "Result" : ROLES[message.role]}</span>
        <span class="position">#{position}</span>
        {item.is_abandoned && <span class="tag">abandoned</span>}
        {message.is_error && <span class="tag bad">error</span>}
        {pin && pins?.map((quote) => <Unpin key={quote} thread={pin} position={position} quote={quote} changed={changed!} />)}
        {pin && message.role === "user" && text && !item.is_abandoned && <Pin thread={pin} position={position} text={text} changed={changed!} />}
        {message.media > 0 && <span class="tag">{count(message.media)} media</span>}
      </header>
      {message.thinking && <details class="thinking"><summary>Reasoning</summary><pre class="open" dir="auto">{message.thinking}</pre></details>}
      {shown && (isTool ? <pre class="open" dir="auto">{shown}</pre> : <div class="text" dir="auto">{shown}</div>)}
      {message.tool_calls.map((call) => (
        <details key={call.id} class="tool-call"><summary><code>{call.name}</code> <span class="quiet">{call.arguments.slice(0, 90)}</span></summary><pre class="open" dir="auto">{call.arguments}</pre></details>
      ))}
      {children}
      {long && <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? "Less" : "All of it"}</button>}
    </article>
  );
}
