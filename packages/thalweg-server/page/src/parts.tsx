// Small parts that several screens use.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count, percent } from "./format";
import type { GatewayError } from "./http";

export function Fill({ tokens, window }: { tokens: number; window: number }) {
  if (!tokens) return <span class="quiet">–</span>;
  const part = window ? Math.min(1, tokens / window) : 0;
  const label = window
    ? `${count(tokens)} of ${count(window)} tokens, ${percent(tokens, window)} of the window`
    : `${count(tokens)} tokens; the window is unknown`;
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
