// The frame of one thread: its head, its tabs, and the call that all of them share.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Overview } from "./api";
import { Changes } from "./changes";
import { Conversation } from "./conversation";
import { agentName, count, gain, money, moment, percent, plural } from "./format";
import { go, useData } from "./hooks";
import { path } from "./http";
import { Loading, Problem } from "./parts";
import { Requests } from "./requests";

export interface ThreadProps {
  overview: Overview;
  /** Index of the chosen call. */
  chosen: number;
  choose: (index: number) => void;
  reload: () => void;
}

const TABS = [
  ["", "Conversation"],
  ["request", "What the model saw"],
  ["changes", "Changes and cost"],
] as const;

export function Thread({ id, tab, query }: { id: string; tab: string; query: URLSearchParams }) {
  const { data, error, reload } = useData<Overview>(path`api/page/threads/${id}`);
  const address = `/thread/${encodeURIComponent(id)}`;
  const wanted = Number(query.get("call"));
  const [picked, setPicked] = useState<number | undefined>();
  const length = data?.calls.length ?? 0;
  const chosen = Math.max(0, Math.min(length - 1, picked ?? (wanted ? wanted - 1 : length - 1)));
  useEffect(() => {
    if (wanted) setPicked(wanted - 1);
  }, [wanted]);
  useEffect(() => {
    document.title = `${data?.thread.title || id} – Thalweg`;
  }, [data?.thread.title, id]);
  const choose = useCallback((index: number) => setPicked(index), []);
  if (error && !data) return <main id="main" tabIndex={-1}><Problem error={error} retry={reload} /></main>;
  if (!data) return <main id="main" tabIndex={-1}><Loading what="the thread" /></main>;
  const { thread } = data;
  const props = { overview: data, chosen, choose, reload };
  return (
    <main id="main" class={`thread ${tab || "conversation"}`} tabIndex={-1}>
      <header class="thread-head">
        <a class="back" href="#/">Threads</a>
        <h1>{thread.title || thread.id}</h1>
        <p class="about">
          {[
            thread.agent ? `${agentName(thread.agent)}, recorded` : "",
            thread.project,
            thread.model,
            moment(thread.updated),
          ].filter(Boolean).map((text) => <span key={text}>{text}</span>)}
        </p>
        <Summary overview={data} address={address} isShort={tab === "changes"} />
      </header>
      <nav class="tabs" aria-label="Views of this thread">
        {TABS.map(([name, label]) => (
            <a key={name} href={`#${address}${name ? `/${name}` : ""}`} aria-current={name === tab ? "page" : undefined}>{label}</a>
          ))}
      </nav>
      {error && <Problem error={error} retry={reload} />}
      {tab === "" && <Conversation {...props} at={query.has("at") ? Number(query.get("at")) : undefined} />}
      {tab === "request" && <Requests {...props} />}
      {tab === "changes" && <Changes {...props} />}
    </main>
  );
}

/** One sentence with the figures, and the requests that the agent lost. */
function Summary({ overview, address, isShort }: { overview: Overview; address: string; isShort: boolean }) {
  const { thread, calls, lost, requests, saved } = overview;
  const newest = calls.at(-1);
  const compactions = overview.changes.filter((one) => one.kind === "compaction").length;
  const spent = calls.reduce((sum, call) => sum + (call.cost ?? 0), 0);
  return (
    <>
      <p class="summary">
        <span>{plural(thread.messages, "message")}</span>
        <span>{plural(calls.length, "call")}</span>
        <a href={`#${address}/changes`}>{money(thread.cost, thread.currency)}</a>
        {saved !== null && saved > 0 && (
          <a class="good" href={`#${address}/changes`} title={`${money(spent + saved)} if everything had been sent`}>{gain(saved, thread.currency).replace("+", "")} saved</a>
        )}
        {compactions > 0 && <a href={`#${address}/changes`}>{plural(compactions, "compaction")}</a>}
        {newest && (
          <a href={`#${address}/request`}>{count(newest.tokens)} tokens in the context{thread.window > 0 && `, ${percent(newest.tokens, thread.window)} of the window`}</a>
        )}
      </p>
      {lost.length > 0 && !isShort && (
        <p class="lost-note">
          <strong>{count(lost.length)} of {plural(requests, "request")} of yours left the context.</strong>{" "}
          The agent's summaries do not have them.{" "}
          <a href={`#${address}/changes`} onClick={() => setTimeout(() => document.getElementById("lost")?.scrollIntoView(), 50)}>Show them</a>
        </p>
      )}
    </>
  );
}

export const toCall = (id: string, turn: number): void =>
  go(`/thread/${encodeURIComponent(id)}/request?call=${turn}`);
