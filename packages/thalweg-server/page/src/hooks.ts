// State shared by the screens: the address, data of the gateway, and the size of an element.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { GatewayError, send } from "./http";

export interface Loaded<T> {
  data: T | undefined;
  error: GatewayError | undefined;
  reload: () => void;
}

const RETRY_MS = 3_000;

/** Load data; `undefined` loads nothing. A lost connection is retried; old data remains shown. */
export function useData<T>(url: string | undefined): Loaded<T> {
  const [state, setState] = useState<{ url?: string; data?: T; error?: GatewayError }>({});
  const [again, setAgain] = useState(0);
  useEffect(() => {
    if (url === undefined) return;
    const stop = new AbortController();
    let timer = 0;
    const load = () =>
      send<T>(url, { signal: stop.signal }).then(
        (data) => setState({ url, data }),
        (error: unknown) => {
          if (stop.signal.aborted || !(error instanceof GatewayError)) return;
          setState((old) => ({ url, ...(old.url === url && old.data !== undefined ? { data: old.data } : {}), error }));
          if (error.status === 401) window.dispatchEvent(new Event("signed-out"));
          if (error.status === 0) timer = window.setTimeout(load, RETRY_MS);
        },
      );
    load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [url, again]);
  const fits = state.url === url;
  const reload = useCallback(() => setAgain((n) => n + 1), []);
  return { data: fits ? state.data : undefined, error: fits ? state.error : undefined, reload };
}

/** The address after `#`, as its parts; `go` changes it. */
export function useRoute(): { parts: string[]; query: URLSearchParams } {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    changed(); // an address that changed since the first render
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  const [address = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  return {
    parts: address.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(search),
  };
}

export function go(address: string, replace = false): void {
  if (replace) {
    history.replaceState(null, "", `#${address}`);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = address;
}

/** The width of an element in pixels, as it changes. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** A value that follows another one after a pause. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
