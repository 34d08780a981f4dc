// Screen 2: the conversation, and whether each message is in the context now.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { History, HistoryItem, Overview } from "./api";
import { agentName, count } from "./format";
import { path, send } from "./http";
import { ROLES } from "./requests";
import type { ThreadProps } from "./thread";
import { VirtualList } from "./virtual";

const BLOCK = 100;
const FORMS = { whole: "in the context", shortened: "shortened in the context", summarized: "not in the context; the summary stands for it" };

function formOf(overview: Overview, position: number): keyof typeof FORMS | undefined {
  return overview.placements.find((one) => one.first <= position && position <= one.last)?.form;
}

export function Conversation({ overview, at }: ThreadProps & { at: number | undefined }) {
  const { thread } = overview;
  const length = thread.messages;
  const [blocks, setBlocks] = useState<Record<number, HistoryItem[]>>({});
  const asked = useRef(new Set<number>());
  useEffect(() => {
    asked.current.clear();
  }, [thread.id, length]);
  const load = useCallback(
    (block: number) => {
      if (asked.current.has(block)) return;
      asked.current.add(block);
      const end = Math.min(length, (block + 1) * BLOCK);
      const size = end - block * BLOCK;
      send<History>(`${path`api/threads/${thread.id}/history`}?limit=${size}&before=${end}&abandoned=true`).then(
        ({ items }) => setBlocks((old) => ({ ...old, [block]: items })),
        () => asked.current.delete(block),
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
  // A recorded session is read from its beginning, a thread of one's own is continued.
  const start = at ?? (thread.agent ? undefined : Math.max(0, length - 1));
  const inContext = useMemo(
    () => overview.placements.reduce((sum, one) => sum + (one.form === "summarized" ? 0 : one.last - one.first + 1), 0),
    [overview.placements],
  );
  if (!length) return <p class="empty">No messages yet.</p>;
  return (
    <section class="conversation" aria-label="Conversation">
      {overview.placements.length > 0 && (
        <p class="quiet legend-line">
          <span class="dot whole" /> in the context <span class="dot shortened" /> shortened <span class="dot summarized" /> summarized
          <span class="spacer" />
          {count(inContext)} of {count(length)} messages are in the context{thread.agent ? ` of ${agentName(thread.agent)} as of its last call` : ""}
        </p>
      )}
      <VirtualList length={length} label={`Messages of the thread, ${count(length)}`} estimate={110} start={start} onRange={onRange}
        row={(position) => {
          const item = blocks[Math.floor(position / BLOCK)]?.[position % BLOCK];
          return <Item item={item} position={position} form={formOf(overview, position)} isTarget={position === at} />;
        }} />
    </section>
  );
}

interface ItemProps {
  item: HistoryItem | undefined;
  position: number;
  form: keyof typeof FORMS | undefined;
  isTarget: boolean;
}

const LONG = 900;

export function Item({ item, position, form, isTarget }: ItemProps) {
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
        {message.media > 0 && <span class="tag">{count(message.media)} media</span>}
      </header>
      {message.thinking && <details class="thinking"><summary>Reasoning</summary><pre class="open" dir="auto">{message.thinking}</pre></details>}
      {shown && (isTool ? <pre class="open" dir="auto">{shown}</pre> : <div class="text" dir="auto">{shown}</div>)}
      {message.tool_calls.map((call) => (
        <details key={call.id} class="tool-call"><summary><code>{call.name}</code> <span class="quiet">{call.arguments.slice(0, 90)}</span></summary><pre class="open" dir="auto">{call.arguments}</pre></details>
      ))}
      {long && <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? "Less" : "All of it"}</button>}
    </article>
  );
}
