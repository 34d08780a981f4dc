// Small parts that several screens use.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, percent } from "./format";
import type { Change, MessageMedia } from "./api";
import { GatewayError, headers, path, send } from "./http";

export function Fill({ tokens, window }: { tokens: number; window: number }) {
  if (!tokens) return <span class="quiet">–</span>;
  const part = window ? Math.min(1, tokens / window) : 0;
  const label = window
    ? `${count(tokens)} of ${count(window)} tokens, ${percent(tokens, window)} of the window`
    : `${count(tokens)} tokens; the window is not stated`;
  return (
    <span class="fill" role="img" aria-label={label} title={label}>
      {window > 0 && <span class="track"><span style={{ width: `${100 * part}%` }} /></span>}
    </span>
  );
}

export function Problem({ error, retry }: { error: GatewayError; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export const Loading = ({ what }: { what: string }) => (
  <p class="loading" role="status">Loading {what} …</p>
);

/** A modal dialog; Escape and the button close it. */
export function Dialog({ title, close, children }: {
  title: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog ref={ref} onClose={close} aria-labelledby="dialog-title"
      onClick={(event) => event.target === ref.current && ref.current?.close()}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="plain" onClick={() => ref.current?.close()}>Close</button>
      </header>
      <div class="content">{children}</div>
    </dialog>
  );
}

export function Figure({ name, value, about, tone }: {
  name: string;
  value: string;
  about?: ComponentChildren;
  tone?: "good" | "bad" | undefined;
}) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd class={tone}>{value}</dd>
      {about && <dd class="about">{about}</dd>}
    </div>
  );
}

/** A text with the searched words marked. */
export function Marked({ text, words }: { text: string; words: string }) {
  const wanted = words.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return <>{text}</>;
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "gi"));
  return <>{parts.map((part, k) => (k % 2 ? <mark key={k}>{part}</mark> : part))}</>;
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const MOST_PINNED = 4_000;

/** The pinned words of a thread by the position of their message. */
export function pinsOf(changes: Change[]): Map<number, string[]> {
  const pins = new Map<number, string[]>();
  for (const { kind, position, detail } of changes.filter((one) => one.is_current).flatMap((one) => one.edits)) {
    const others = (pins.get(position) ?? []).filter((quote) => quote !== detail.quote);
    if (kind === "pin") pins.set(position, [...others, String(detail.quote)]);
    if (kind === "unpin") pins.set(position, others);
  }
  return pins;
}

/** Releases words that are pinned. */
export function Unpin({ thread, position, quote, changed }: { thread: string; position: number; quote: string; changed: () => void }) {
  const [note, setNote] = useState("");
  const unpin = () => send(path`api/threads/${thread}/unpin`, { body: { position, quote } }).then(changed, (error: Error) => setNote(error.message));
  return (
    <span class="pinned" title={quote}>
      <span class="tag summary">pinned{quote.length < 40 && `: ${quote}`}</span>
      {note ? <span class="tag bad" role="status">{note}</span> : <button type="button" class="link" onClick={unpin}>Unpin</button>}
    </span>
  );
}

/** Keeps the selected words of a message, or all of it, verbatim in every context. */
export function Pin({ thread, position, text, changed }: {
  thread: string;
  position: number;
  text: string;
  changed?: () => void;
}) {
  const [note, setNote] = useState("");
  const pin = async () => {
    const selected = String(document.getSelection() ?? "").trim();
    const quote = (selected && text.includes(selected) ? selected : text.trim()).slice(0, MOST_PINNED);
    try {
      await send(path`api/threads/${thread}/pin`, { body: { position, quote } });
      if (changed) changed();
      else setNote("Pinned");
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      setNote(error.message);
    }
  };
  if (note) return <span class="tag" role="status">{note}</span>;
  return <button type="button" class="link pin" title="Keep the selected words, or all of them, verbatim in every context" onMouseDown={(event) => event.preventDefault()} onClick={pin}>Pin</button>;
}

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

/** The pictures of a message. */
export function Pictures({ thread, position, media }: { thread: string; position: number; media: MessageMedia[] }) {
  return <p class="pictures">{media.map(({ mime, index }, k) => PICTURES.test(mime) && index !== null && <Picture key={k} url={`${path`api/page/threads/${thread}/media`}?position=${position}&index=${index}`} />)}</p>;
}

function Picture({ url }: { url: string }) {
  const [source, setSource] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let made = "";
    fetch(url, { headers: headers(), signal: stop.signal })
      .then(async (response) => {
        if (response.ok && !stop.signal.aborted) setSource((made = URL.createObjectURL(await response.blob())));
      })
      .catch(() => undefined); // the message states that it has a picture
    return () => {
      stop.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [url]);
  return source ? <a href={source} target="_blank"><img src={source} alt="Picture of this message" /></a> : null;
}
