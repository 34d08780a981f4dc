// Numbers, money and times as text.
const number = new Intl.NumberFormat("en-US");

export const count = (value: number): string => number.format(Math.round(value));

/** 12,345 -> 12k; below 1,000 exact. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  if (value < 10_000) return `${(value / 1_000).toFixed(1)}k`;
  if (value < 999_500) return `${Math.round(value / 1_000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Money; amounts below a tenth have more digits. */
export function money(value: number | null | undefined, currency = "USD"): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (currency !== "USD") return `${value.toPrecision(3)} ${currency}`;
  const digits = size === 0 || size >= 0.1 ? 2 : size >= 0.001 ? 4 : 5;
  const text = size.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${value < 0 ? "−" : ""}$${text}`;
}

export function gain(value: number | null | undefined, currency = "USD"): string {
  if (value === null || value === undefined) return "–";
  return value > 0 ? `+${money(value, currency)}` : money(value, currency);
}

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** A time of today; the day of this year; else with the year. */
export function when(iso: string | null | undefined): string {
  if (!iso) return "–";
  const at = new Date(iso);
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  return (at.getFullYear() === now.getFullYear() ? day : year).format(at);
}

export function moment(iso: string | null | undefined): string {
  if (!iso) return "";
  const at = new Date(iso);
  return `${year.format(at)}, ${clock.format(at)}`;
}

export const percent = (part: number, whole: number): string =>
  whole > 0 ? `${Math.round((100 * part) / whole)}%` : "–";

const AGENTS: Record<string, string> = {
  own: "This gateway",
  "claude-code": "Claude Code",
  codex: "Codex",
  "gemini-cli": "Gemini CLI",
  opencode: "opencode",
  pi: "pi",
  droid: "Droid",
};
/** The last two folders of a path: worktrees often have a number as their name. */
export const projectName = (path: string): string => path.split("/").filter(Boolean).slice(-2).join("/");

export const agentName = (agent: string): string => AGENTS[agent] ?? agent;

/** The sections of a request: key, name, and number of the colour. */
export const SECTIONS: [string, string, number][] = [
  ["overhead", "System prompt and tools", 0],
  ["system", "System prompt", 0],
  ["tools", "Tools", 1],
  ["memory", "Memory", 2],
  ["skills", "Skills", 3],
  ["added", "Added", 3],
  ["summary", "Summary", 4],
  ["user", "Your messages", 5],
  ["assistant", "Answers", 6],
  ["results", "Tool results", 7],
  ["history", "Messages", 6],
];

export function sectionsOf(sections: Record<string, number>): [string, string, number, number][] {
  const named = SECTIONS.filter(([key]) => (sections[key] ?? 0) > 0).map(
    ([key, name, colour]) => [key, name, colour, sections[key] ?? 0] as [string, string, number, number],
  );
  const known = new Set(SECTIONS.map(([key]) => key));
  for (const [key, tokens] of Object.entries(sections)) {
    if (!known.has(key) && tokens > 0) named.push([key, key, 3, tokens]);
  }
  return named;
}
