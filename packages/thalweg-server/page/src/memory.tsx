// Screen 5: what memory has about its owner, why, and how to forget it.
import { useEffect, useState } from "preact/hooks";
import type { Commit, Commits, FactView, Facts, Forgotten, Recall } from "./api";
import { count, moment, plural, when } from "./format";
import { useData, useSettled } from "./hooks";
import { GatewayError, path, send } from "./http";
import { Dialog, Loading, Problem } from "./parts";

/** A fact with the fields that its shape leaves open. */
type Fact = FactView & {
  evidence?: { quote: string; thread: string; said_at?: string }[];
  isVerified?: boolean;
  writtenBy?: string;
};

const SETTLE_MS = 300;
const FATES: Record<string, string> = {
  shown: "recalled",
  told: "recalled",
  "told before": "already in the context",
  "no room": "there is no room for it",
  "said already": "the conversation has it",
};

export function Memory() {
  const facts = useData<Facts>("api/memory/facts");
  const review = useData<Facts>("api/memory/facts?status=quarantined");
  const history = useData<Commits>("api/memory/history?limit=30");
  const [note, setNote] = useState("");
  const [words, setWords] = useState("");
  const [receipt, setReceipt] = useState<Forgotten | undefined>();
  const [asks, setAsks] = useState<Fact | undefined>();
  useEffect(() => {
    document.title = "Memory – Thalweg";
  }, []);
  const reload = () => {
    facts.reload();
    review.reload();
    history.reload();
  };
  const act = async <T,>(url: string, body: unknown, done: string): Promise<T | undefined> => {
    try {
      const made = await send<T>(url, { body });
      setNote(done);
      reload();
      return made;
    } catch (error) {
      if (error instanceof GatewayError) setNote(error.message);
      return undefined;
    }
  };
  const forget = async (fact: Fact) => {
    setAsks(undefined);
    setReceipt(await act<Forgotten>("api/memory/forget", { facts: [fact.id] }, ""));
  };
  const all = (facts.data?.items ?? []) as Fact[];
  const wanted = words.trim().toLowerCase();
  const shown = all.filter((one) => !wanted || one.content.toLowerCase().includes(wanted));
  const waiting = (review.data?.items ?? []) as Fact[];
  return (
    <main id="main" class="memory" tabIndex={-1}>
      <h1>Memory</h1>
      <p class="quiet">What is remembered about you, in your words, and where you said it.</p>
      {facts.error && <Problem error={facts.error} retry={facts.reload} />}
      {!facts.data && !facts.error && <Loading what="memory" />}
      {waiting.length > 0 && (
        <section class="review" aria-labelledby="review-title">
          <h2 id="review-title">Waiting for you</h2>
          <p class="quiet">These did not come from your own words. Nothing is recalled before you accept it.</p>
          <ul>
            {waiting.map((fact) => (
              <li key={fact.id} class="fact">
                <FactText fact={fact} isWaiting />
                <div class="actions">
                  <button type="button" class="act" onClick={() => act(path`api/memory/facts/${fact.id}/review`, { accept: true }, "Accepted.")}>Accept</button>
                  <button type="button" onClick={() => act(path`api/memory/facts/${fact.id}/review`, { accept: false }, "Rejected.")}>Reject</button>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      {facts.data && (
        <section aria-labelledby="facts-title">
          <header class="section-head">
            <h2 id="facts-title">{plural(all.length, "fact")}</h2>
            {all.length > 8 && <input type="search" value={words} placeholder="Find a fact" aria-label="Find a fact" onInput={(event) => setWords(event.currentTarget.value)} />}
          </header>
          {all.length === 0 && <p class="empty">Nothing is remembered yet.</p>}
          <ul class="facts">
            {shown.map((fact) => (
              <li key={fact.id} class="fact">
                <FactText fact={fact} />
                <div class="actions">
                  <button type="button" class="link" onClick={() => setAsks(fact)}>Forget</button>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      <RecallFor />
      {history.data && history.data.items.length > 0 && (
        <section aria-labelledby="history-title">
          <h2 id="history-title">History</h2>
          <ol class="history">
            {history.data.items.map((one: Commit) => (
              <li key={one.operation}>
                <span class="quiet" title={moment(one.at)}>{when(one.at)}</span>
                <span>{one.summary.replace("active", "remembered").replace("quarantined", "waiting for you")} <span class="quiet">by {one.actor}</span></span>
                <button type="button" class="link" onClick={() => act(path`api/memory/history/${one.operation}/undo`, null, "Undone.")}>Undo</button>
              </li>
            ))}
          </ol>
        </section>
      )}
      {asks && (
        <Dialog title="Forget this?" close={() => setAsks(undefined)}>
          <blockquote>{asks.content}</blockquote>
          <p>It is deleted everywhere: the fact, its evidence, its history, and the turns that it was learned from. This cannot be undone.</p>
          <p class="buttons"><button type="button" class="act" onClick={() => forget(asks)}>Forget it</button></p>
        </Dialog>
      )}
      {receipt && <Receipt receipt={receipt} close={() => setReceipt(undefined)} />}
      <p class="toast" role="status">{note}</p>
    </main>
  );
}

function FactText({ fact, isWaiting }: { fact: Fact; isWaiting?: boolean }) {
  const quotes = (fact.evidence ?? []).filter((one) => one.quote);
  return (
    <div>
      <p class="content" dir="auto">{fact.content}</p>
      <p class="about">
        {!isWaiting && <span class={`tag ${fact.isVerified === false ? "" : "verified"}`}>{fact.isVerified === false ? "quoted" : "verified"}</span>}
        <span>{fact.category}</span>
        <span title={moment(fact.createdAt)}>since {when(fact.createdAt)}</span>
        {fact.writtenBy && <span>by {fact.writtenBy}</span>}
      </p>
      {quotes.length > 0 && (
        <details>
          <summary>{plural(quotes.length, "quote")}</summary>
          {quotes.map((one, k) => (
            <blockquote key={k} dir="auto">
              {one.quote}
              {one.thread && <a href={`#/thread/${encodeURIComponent(one.thread)}`}>{when(one.said_at)}, the thread</a>}
            </blockquote>
          ))}
        </details>
      )}
    </div>
  );
}

/** What a run about some words would receive, and why. */
function RecallFor() {
  const [typed, setTyped] = useState("");
  const q = useSettled(typed.trim(), SETTLE_MS);
  const { data, error } = useData<Recall>(q ? `api/memory/explain?q=${encodeURIComponent(q)}` : undefined);
  const recalled = data?.items.filter((one) => one.is_told).length ?? 0;
  return (
    <section aria-labelledby="recall-title">
      <h2 id="recall-title">What would be recalled</h2>
      <p class="controls"><input type="search" value={typed} placeholder="A sentence that you would write" aria-label="A sentence that you would write" onInput={(event) => setTyped(event.currentTarget.value)} /></p>
      {error && <Problem error={error} />}
      {data && data.items.length === 0 && <p class="quiet">Nothing is found for these words.</p>}
      {data && data.items.length > 0 && (
        <>
          <p class="quiet">{recalled} of {plural(data.items.length, "candidate")}, {count(data.tokens)} tokens.</p>
          <div class="table-box">
            <table class="list">
              <caption class="unseen">Candidates, the best first</caption>
              <thead><tr><th scope="col">Text</th><th scope="col">Kind</th><th scope="col">Result</th><th scope="col" class="num">Score</th></tr></thead>
              <tbody>
                {data.items.slice(0, 20).map((one) => (
                  <tr key={`${one.kind}-${one.id}`} class={one.is_told ? "" : "quiet"}>
                    <th scope="row" dir="auto">{one.content}</th>
                    <td>{one.kind === "fact" ? "fact" : "earlier turn"}</td>
                    <td>{FATES[one.why] ?? one.why}</td>
                    <td class="num">{one.score.toFixed(2)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}

function Receipt({ receipt, close }: { receipt: Forgotten; close: () => void }) {
  const left = Array.isArray(receipt.detail.left) ? (receipt.detail.left as string[]) : [];
  return (
    <Dialog title="Forgotten" close={close}>
      <p>{plural(receipt.facts, "fact")} and {plural(receipt.turns, "turn")} were deleted.</p>
      {left.length > 0 && (
        <>
          <h3>Copies that may remain</h3>
          <ul class="bullets">{left.map((one) => <li key={one}>{one}</li>)}</ul>
        </>
      )}
    </Dialog>
  );
}
