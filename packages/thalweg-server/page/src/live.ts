// A run as its events show it: followed over lost connections, from the last event that arrived.
import { useEffect, useRef, useState } from "preact/hooks";
import type {
  ContextChanged, MessageCompleted, MessageDelta, MessageStarted, MessageWithdrawn, Run, RunCancelled,
  RunCompleted, RunFailed, RunInterrupted, RunResumed, RunStarted, Runs, SubagentEvent, ThinkingDelta,
  ToolCall, ToolCompleted, ToolStarted, UsageReported,
} from "./api";
import { errorOf, GatewayError, headers, path, send } from "./http";

type RunEnd = RunCancelled | RunCompleted | RunFailed | RunInterrupted;
type RunEvent =
  | ContextChanged | MessageCompleted | MessageDelta | MessageStarted | MessageWithdrawn | RunResumed
  | RunStarted | SubagentEvent | ThinkingDelta | ToolCompleted | ToolStarted | UsageReported | RunEnd;

/** An answer of a model, or a call of a tool, of the agent or of a subagent. */
export interface Step {
  kind: "message" | "tool";
  id: string;
  /** The call of the subagent that it belongs to; empty for the agent itself. */
  caller: string;
  text: string;
  thinking: string;
  calls: ToolCall[];
  name: string;
  arguments: string;
  isError: boolean;
  isOpen: boolean;
}

export class RunState {
  readonly steps: Step[] = [];
  /** Number of the newest event that arrived. */
  last = 0;
  /** Changes with each step that the archive may have. */
  stored = 0;
  end: RunEnd | undefined;
  usage: UsageReported | undefined;
  compacted: ContextChanged | undefined;
  isLost = false;

  constructor(readonly run: string) {}

  private step(kind: Step["kind"], id: string, more: Partial<Step> = {}): Step {
    let found = this.steps.find((one) => one.kind === kind && one.id === id);
    if (!found) {
      found = { kind, id, caller: "", text: "", thinking: "", calls: [], name: "", arguments: "", isError: false, isOpen: true };
      this.steps.push(found);
    }
    return Object.assign(found, more);
  }

  take(event: RunEvent): void {
    switch (event.type) {
      case "message.started":
        this.step("message", event.message, { caller: event.caller });
        this.stored++;
        break;
      case "message.delta":
        this.step("message", event.message).text += event.text;
        break;
      case "thinking.delta":
        this.step("message", event.message).thinking += event.text;
        break;
      case "message.completed":
        this.step("message", event.message, { text: event.text, calls: event.tool_calls, caller: event.caller, isOpen: false });
        this.stored++;
        break;
      case "message.withdrawn":
        this.steps.splice(this.steps.indexOf(this.step("message", event.message)), 1);
        break;
      case "tool.started":
        this.step("tool", event.call, { name: event.name, arguments: event.arguments, caller: event.caller });
        break;
      case "tool.completed":
        this.step("tool", event.call, { name: event.name, text: event.text, isError: event.is_error, caller: event.caller, isOpen: false });
        this.stored++;
        break;
      case "context.changed":
        if (!event.detail.caller) this.compacted = event;
        break;
      case "usage":
        this.usage = event;
        break;
      case "run.interrupted":
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
        this.end = event;
        this.stored++;
    }
  }

  /** Steps of subagents by the call that they belong to. */
  lane(call: string): Step[] {
    return this.steps.filter((one) => one.caller === call);
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = window.setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
const RETRY_MS = 1_000;

/** Follow a run to its end; `changed` is called after each change. */
export async function follow(thread: string, state: RunState, changed: () => void, signal: AbortSignal): Promise<void> {
  while (!state.end && !signal.aborted) {
    try {
      const response = await fetch(path`api/threads/${thread}/runs/${state.run}/stream`, {
        headers: headers({ Accept: "text/event-stream", ...(state.last ? { "Last-Event-ID": String(state.last) } : {}) }),
        signal,
      });
      if (!response.ok || !response.body) throw await errorOf(response);
      state.isLost = false;
      changed();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const frames = (rest + value).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) {
          const data = /^data: (.*)$/m.exec(frame)?.[1];
          if (!data) continue; // a comment that keeps the connection
          state.take(JSON.parse(data) as RunEvent);
          state.last = Number(/^id: (\d+)$/m.exec(frame)?.[1] ?? state.last);
        }
        changed();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof GatewayError && error.status === 401) window.dispatchEvent(new Event("signed-out"));
      if (error instanceof GatewayError && [401, 404].includes(error.status)) return;
    }
    if (state.end) return;
    state.isLost = true;
    changed();
    await pause(RETRY_MS, signal);
  }
}

const WATCH_MS = 3_000;

export interface Live {
  /** The newest run of the thread that is not waiting for another one. */
  run: Run | undefined;
  waiting: number;
  /** Its events, if it is under way or was followed to its end. */
  state: RunState | undefined;
  watch: () => void;
}

/** The runs of a thread, also those that another tab starts; `undefined` watches none. */
export function useLive(thread: string | undefined): Live {
  const [runs, setRuns] = useState<Run[]>([]);
  const [state, setState] = useState<RunState | undefined>();
  const [, redraw] = useState(0);
  const [again, setAgain] = useState(0);
  const frame = useRef(0);
  useEffect(() => {
    if (thread === undefined) return;
    const stop = new AbortController();
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      if (document.hidden) return;
      send<Runs>(`${path`api/threads/${thread}/runs`}?limit=20`, { signal: stop.signal }).then(
        (found) => setRuns(found.items),
        (error: unknown) => {
          if (error instanceof GatewayError && error.status === 401) window.dispatchEvent(new Event("signed-out"));
        },
      ).finally(() => {
        if (!stop.signal.aborted) timer = window.setTimeout(look, WATCH_MS);
      });
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [thread, again]);
  const unended = runs.filter((one) => one.status === "queued" || one.status === "running");
  const run = unended.at(-1) ?? runs[0];
  const follows = run && (unended.length > 0 || run.status === "interrupted") ? run.id : undefined;
  useEffect(() => {
    if (thread === undefined || follows === undefined || state?.run === follows) return;
    const stop = new AbortController();
    const found = new RunState(follows);
    // Of a run that waits for an answer, the last event alone has the questions.
    if (run?.status === "interrupted") found.last = run.last_event - 1;
    setState(found);
    const changed = () => {
      frame.current ||= requestAnimationFrame(() => {
        frame.current = 0;
        redraw((n) => n + 1);
      });
    };
    void follow(thread, found, changed, stop.signal).then(() => {
      changed();
      if (!stop.signal.aborted) setAgain((n) => n + 1);
    });
    return () => stop.abort();
  }, [thread, follows]);
  return { run, waiting: Math.max(0, unended.length - 1), state, watch: () => setAgain((n) => n + 1) };
}
