// Screen 3: what the model saw. A request as it was sent, compared with the one before.
import { useEffect, useState } from "preact/hooks";
import type { History, RequestMessage, SentRequest } from "./api";
import { SectionBar } from "./charts";
import { agentName, count, money, moment, percent, plural } from "./format";
import { useData, useSettled } from "./hooks";
import { path, send } from "./http";
import { Dialog, Figure, Loading, Pictures, Pin, Problem } from "./parts";
import type { ThreadProps } from "./thread";
import { VirtualList } from "./virtual";

const SETTLE_MS = 150;
const FORMS = { whole: "", shortened: "shortened", summary: "summary", added: "added" } as const;
export const ROLES: Record<string, string> = {
  user: "You",
  assistant: "Agent",
  tool: "Result",
  system: "System",
};

type Show = "all" | "new" | "changed";

export function Requests({ overview, chosen, choose }: ThreadProps) {
  const { thread, calls } = overview;
  const call = calls[chosen];
  const turn = useSettled(call?.turn, SETTLE_MS);
  const { data, error, reload } = useData<SentRequest>(
    turn === undefined ? undefined : `${path`api/page/threads/${thread.id}/request`}?turn=${turn}`,
  );
  const [show, setShow] = useState<Show>("all");
  const [original, setOriginal] = useState<{ first: number; last: number } | undefined>();
  const [part, setPart] = useState<"system" | "tools" | undefined>();
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if ((event.target as Element).matches("input, textarea, select") || event.metaKey || event.ctrlKey) return;
      if (event.key === "ArrowLeft" && chosen > 0) choose(chosen - 1);
      if (event.key === "ArrowRight" && chosen < calls.length - 1) choose(chosen + 1);
    };
    window.addEventListener("keydown", keys);
    return () => window.removeEventListener("keydown", keys);
  }, [chosen, calls.length]);
  if (!call) {
    return (
      <p class="empty">
        {thread.agent
          ? `${agentName(thread.agent)} logged no usage in this session, so its requests are unknown.`
          : "No request was sent yet."}
      </p>
    );
  }
  const shown = (data?.messages ?? []).filter(
    (one) => show === "all" || (show === "new" ? one.is_new : one.form !== "whole"),
  );
  const newCount = data?.messages.filter((one) => one.is_new).length ?? 0;
  const changedCount = data?.messages.filter((one) => one.form !== "whole").length ?? 0;
  return (
    <section class="requests" aria-label="What the model saw">
      <div class="chooser">
        <button type="button" onClick={() => choose(chosen - 1)} disabled={chosen === 0} aria-label="Previous call">‹</button>
        <input type="range" min="1" max={calls.length} value={chosen + 1} aria-label="Call"
          aria-valuetext={`Call ${call.turn} of ${calls.length}, ${count(call.tokens)} tokens`}
          onInput={(event) => choose(Number(event.currentTarget.value) - 1)} />
        <button type="button" onClick={() => choose(chosen + 1)} disabled={chosen === calls.length - 1} aria-label="Next call">›</button>
        <label class="call-number">
          Call
          <input type="number" min="1" max={calls.length} value={call.turn}
            onInput={(event) => {
              const index = calls.findIndex((one) => one.turn === Number(event.currentTarget.value));
              if (index >= 0) choose(index);
            }} />
          of {count(calls.length)}
        </label>
      </div>
      <dl class="figures">
        <Figure name="Tokens" value={count(call.tokens)} about={call.window ? `${percent(call.tokens, call.window)} of ${count(call.window)}` : "the window is not stated"} />
        <Figure name="From the cache" value={call.cached_tokens === null ? "–" : count(call.cached_tokens)}
          about={call.cached_tokens === null ? "not reported" : `${percent(call.cached_tokens, call.input_tokens ?? 0)} of the input`} />
        <Figure name="New to the cache" value={call.input_tokens === null ? "–" : count(call.input_tokens - (call.cached_tokens ?? 0))} about="paid at the full price" />
        <Figure name="Answer" value={call.output_tokens === null ? "–" : count(call.output_tokens)} about={call.is_output_counted ? "tokens, counted: the log states fewer" : "tokens"} />
        <Figure name="Cost" value={money(call.cost, thread.currency)} about={moment(call.at)} />
      </dl>
      <SectionBar sections={call.sections} window={call.window} limit={call.limit} />
      {!overview.is_whole && (
        <p class="quiet note">Rebuilt from the log of {agentName(thread.agent)}, which has neither its system prompt nor its tools.</p>
      )}
      {!call.is_current && <p class="quiet note">A rewind abandoned this call.</p>}
      <div class="controls">
        <fieldset class="choice">
          <legend class="unseen">Which messages</legend>
          {([["all", "All", data?.messages.length ?? 0], ["new", "New in this call", newCount], ["changed", "Shortened or added", changedCount]] as const).map(([value, label, n]) => (
            <label key={value} class={show === value ? "on" : ""}>
              <input type="radio" name="show" checked={show === value} onChange={() => setShow(value)} />
              {label} <span>{count(n)}</span>
            </label>
          ))}
        </fieldset>
        {data && (data.system || data.tools.length > 0) && (
          <span class="extras">
            {data.system && <button type="button" class="link" onClick={() => setPart("system")}>System prompt</button>}
            {data.tools.length > 0 && <button type="button" class="link" onClick={() => setPart("tools")}>{plural(data.tools.length, "tool")}</button>}
          </span>
        )}
      </div>
      {data && <Difference request={data} open={setOriginal} />}
      {error && <Problem error={error} retry={reload} />}
      {!data && !error && <Loading what="the request" />}
      {data && shown.length === 0 && <p class="empty">No message is of this kind.</p>}
      {data && shown.length > 0 && (
        <VirtualList key={`${data.turn}-${show}`} length={shown.length} label={`Messages of call ${data.turn}, as sent`} estimate={74}
          row={(k) => (
            <Message message={shown[k]!} thread={thread.id} turn={data.turn} cacheEnds={show === "all" && k === data.same && k > 0}
              open={(position) => setOriginal({ first: position, last: position })} />
          )} />
      )}
      {original && <Originals thread={thread.id} canPin={!thread.agent} first={original.first} last={original.last} close={() => setOriginal(undefined)} />}
      {part === "system" && data && (
        <Dialog title="System prompt" close={() => setPart(undefined)}><pre>{data.system}</pre></Dialog>
      )}
      {part === "tools" && data && (
        <Dialog title={`Tools of call ${data.turn}`} close={() => setPart(undefined)}>
          <dl class="tools">{data.tools.map((tool) => <div key={tool.name}><dt>{tool.name}</dt><dd>{tool.description}</dd></div>)}</dl>
        </Dialog>
      )}
    </section>
  );
}

function Difference({ request, open }: { request: SentRequest; open: (span: { first: number; last: number }) => void }) {
  const fresh = request.messages.filter((one) => one.is_new).length;
  const gone = request.removed.reduce((sum, one) => sum + one.last - one.first + 1, 0);
  if (request.turn === 1) return <p class="difference">The first request of the thread.</p>;
  return (
    <p class="difference">
      Compared with the request before: the first {plural(request.same, "message is", "messages are")} equal, {plural(fresh, "message is", "messages are")} new
      {gone === 0 ? "." : ", "}
      {gone > 0 && (
        <>
          <strong>{plural(gone, "message")} left the context</strong>:{" "}
          {request.removed.slice(0, 4).map((span, k) => (
            <span key={span.first}>
              {k > 0 && ", "}
              <button type="button" class="link" onClick={() => open(span)}>#{span.first}{span.last > span.first && `–${span.last}`}</button>
            </span>
          ))}
          {request.removed.length > 4 && ` and ${request.removed.length - 4} more`}.
        </>
      )}
      {request.thinking_lost > 0 && <> The reasoning of {plural(request.thinking_lost, "message")} is not sent again.</>}
    </p>
  );
}

interface MessageProps {
  message: RequestMessage;
  thread: string;
  turn: number;
  cacheEnds: boolean;
  open: (position: number) => void;
}

function Message({ message, thread, turn, cacheEnds, open }: MessageProps) {
  const [whole, setWhole] = useState<RequestMessage | undefined>();
  const [isOpen, setOpen] = useState(false);
  const shown = whole ?? message;
  const load = async () => {
    if (!whole && (message.more > 0 || message.tool_calls.some((one) => one.arguments.length >= 1500))) {
      const found = await send<SentRequest>(`${path`api/page/threads/${thread}/request`}?turn=${turn}&index=${message.index}`);
      setWhole(found.messages[0]);
    }
    setOpen(!isOpen);
  };
  const calls = shown.tool_calls.map((one) => `${one.name} ${one.arguments}`).join("\n");
  const text = [shown.thinking && `[reasoning] ${shown.thinking}`, shown.text, calls].filter(Boolean).join("\n");
  const saved = message.form === "shortened" ? `${count(message.original_tokens)} → ` : "";
  return (
    <>
      {cacheEnds && <div class="cache-end"><span>equal to the request before, and so in the cache, up to here</span></div>}
      <article class={`sent ${message.role} ${message.form}${message.is_new ? " new" : ""}`}>
        <header>
          <span class="who">{message.role === "tool" && message.name ? message.name : ROLES[message.role]}</span>
          {message.position !== null && <span class="position">#{message.position}</span>}
          {FORMS[message.form] && <span class={`tag ${message.form}`}>{FORMS[message.form]}</span>}
          {message.is_new && <span class="tag fresh">new</span>}
          {message.is_error && <span class="tag bad">error</span>}
          {message.media.length > 0 && <span class="tag">{plural(message.media.length, "picture or file", "pictures or files")}</span>}
          <span class="tokens">{saved}{count(message.tokens)} tokens</span>
        </header>
        {message.media.length > 0 && message.position !== null && <Pictures thread={thread} position={message.position} media={message.media} />}
        <pre class={isOpen ? "open" : ""} dir="auto">{text || "(empty)"}</pre>
        {(text.length > 240 || text.includes("\n") || message.more > 0 || message.form === "shortened") && (
          <footer>
            <button type="button" class="link" aria-expanded={isOpen} onClick={load}>{isOpen ? "Less" : "All of it"}</button>
            {message.form === "shortened" && message.position !== null && (
              <button type="button" class="link" onClick={() => open(message.position!)}>Original</button>
            )}
          </footer>
        )}
      </article>
    </>
  );
}

/** The original messages of a stretch, verbatim from the archive. */
export function Originals({ thread, first, last, close, canPin }: {
  thread: string;
  first: number;
  last: number;
  close: () => void;
  canPin?: boolean;
}) {
  const limit = Math.min(1000, last - first + 1);
  const { data, error, reload } = useData<History>(
    `${path`api/threads/${thread}/history`}?limit=${limit}&before=${last + 1}&abandoned=true`,
  );
  const title = first === last ? `Message #${first}, as it was` : `Messages #${first} to #${last}, as they were`;
  return (
    <Dialog title={title} close={close}>
      {error && <Problem error={error} retry={reload} />}
      {!data && !error && <Loading what="the archive" />}
      {data?.items.map(({ position, message }) => (
        <article key={position} class={`sent ${message.role}`}>
          <header><span class="who">{message.name || ROLES[message.role]}</span><span class="position">#{position}</span>{canPin && message.role === "user" && message.text && <Pin thread={thread} position={position} text={message.text} />}</header>
          <pre class="open" dir="auto">
            {[message.thinking && `[reasoning] ${message.thinking}`, message.text, ...message.tool_calls.map((one) => `${one.name} ${one.arguments}`)].filter(Boolean).join("\n") || "(empty)"}
          </pre>
        </article>
      ))}
    </Dialog>
  );
}
