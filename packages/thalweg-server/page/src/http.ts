// Requests to the gateway. The token comes from the fragment of the first address and is kept in
// the tab.
import type { Problem } from "./api";

const TOKEN = "thalweg-token";

/** An answer of the gateway that is an error. */
export class GatewayError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Take the token from the fragment, and remove it from the address. */
export function takeToken(): void {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (match?.[1]) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(match[1]));
    history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  }
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token.trim());
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/** Write a path with quoted names: each remains one segment. */
export function path(strings: TemplateStringsArray, ...names: (string | number)[]): string {
  const quote = (name: string) =>
    name === "." || name === ".." ? name.replaceAll(".", "%2E") : encodeURIComponent(name);
  return strings.reduce((all, part, k) => all + quote(String(names[k - 1])) + part);
}

/** Send a request; `body` makes it a POST, if no method is named. */
export async function send<T>(
  url: string,
  options: { method?: string; body?: unknown; signal?: AbortSignal } = {},
): Promise<T> {
  const { body, signal } = options;
  const method = options.method ?? (body === undefined ? "GET" : "POST");
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new GatewayError(0, "The gateway cannot be reached. It is tried again.");
  }
  if (!response.ok) throw await errorOf(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export async function errorOf(response: Response): Promise<GatewayError> {
  let detail = `The gateway answered ${response.status}.`;
  try {
    detail = ((await response.json()) as Problem).detail ?? detail;
  } catch {
    // no problem details: the status is all there is
  }
  return new GatewayError(response.status, detail);
}
