// The live part of a conversation: what a run does now, its questions, and the next message.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model, Models, Question, Run, Uploads } from "./api";
import { count, money, plural } from "./format";
import { useData } from "./hooks";
import { errorOf, GatewayError, headers, path, send } from "./http";
import { follow, RunState, type Live, type Step } from "./live";
import { Problem } from "./parts";

const SHOWN = 600;

/** What a run does that the history does not have yet. */
export function RunView({ live, known, sent }: { live: Live; known: Set<string>; sent: string }) {
  const { run, state, waiting } = live;
  const steps = state?.steps.filter((one) => !one.caller && !known.has(one.id)) ?? [];
  const isUnderWay = run?.status === "queued" || run?.status === "running";
  return (
    <div class="live" aria-busy={(isUnderWay && !state?.end) || undefined}>
      {sent && <article class="message user"><header><span class="who">You</span></header><div class="text" dir="auto">{sent}</div></article>}
      {steps.map((step) => <StepView key={`${step.kind}-${step.id}`} step={step} state={state!} />)}
      {isUnderWay && (
        <p class="status" role="status">
          {state?.isLost ? "The connection was lost; it is tried again." : run.status === "queued" && !state?.last ? "Waiting for a worker …" : "The agent is at work …"}
          {state?.usage && <span class="quiet"> {count(state.usage.tokens)} tokens, {money(state.usage.total.cost, state.usage.total.currency)} so far</span>}
          {state?.compacted && <span class="tag summary">context made smaller: {count(state.compacted.tokens_before)} → {count(state.compacted.tokens_after)} tokens</span>}
          {waiting > 0 && <span class="quiet"> {plural(waiting, "run")} more {waiting === 1 ? "waits" : "wait"}.</span>}
        </p>
      )}
    </div>
  );
}

function StepView({ step, state }: { step: Step; state: RunState }) {
  const lane = step.kind === "tool" ? state.lane(step.id) : [];
  if (step.kind === "message") {
    return (
      <article class={`message assistant${step.isOpen ? " open" : ""}`}>
        <header><span class="who">Agent</span></header>
        {step.thinking && <details class="thinking" open={step.isOpen && !step.text}><summary>Reasoning</summary><pre class="open" dir="auto">{step.thinking}</pre></details>}
        {step.text && <div class="text" dir="auto">{step.text}</div>}
      </article>
    );
  }
  return (
    <article class="message tool">
      <header>
        <span class="who">{step.name}</span>
        {step.isOpen && <span class="tag live">running</span>}
        {step.isError && <span class="tag bad">error</span>}
      </header>
      <details class="tool-call"><summary><span class="quiet">{step.arguments.slice(0, 110)}</span></summary><pre class="open" dir="auto">{step.arguments}</pre></details>
      {lane.length > 0 && <Lane call={step.arguments} steps={lane} state={state} isOpen={step.isOpen} />}
      {step.text && <pre class="open" dir="auto">{step.text.slice(0, SHOWN)}{step.text.length > SHOWN && " …"}</pre>}
    </article>
  );
}

/** The steps of one subagent. */
function Lane({ call, steps, state, isOpen }: { call: string; steps: Step[]; state: RunState; isOpen: boolean }) {
  const name = /"subagent_type"\s*:\s*"([^"]+)"/.exec(call)?.[1] ?? "Subagent";
  return (
    <details class="lane" open={isOpen}>
      <summary>{name}: {plural(steps.length, "step")}</summary>
      {steps.map((step) => <StepView key={`${step.kind}-${step.id}`} step={step} state={state} />)}
    </details>
  );
}

/** The steps of a subagent of an earlier run, from the events of that run. */
export function PastLane({ thread, run, call }: { thread: string; run: string; call: string }) {
  const [state, setState] = useState<RunState | undefined>();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen || state) return;
    const stop = new AbortController();
    const found = new RunState(run);
    void follow(thread, found, () => undefined, stop.signal).then(() => setState(found));
    return () => stop.abort();
  }, [isOpen]);
  const steps = state?.lane(call) ?? [];
  return (
    <details class="lane" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What the subagent did</summary>
      {isOpen && !state && <p class="quiet" role="status">Loading its steps …</p>}
      {state && steps.length === 0 && <p class="quiet">The events of this run are not kept any more.</p>}
      {steps.map((step) => <StepView key={`${step.kind}-${step.id}`} step={step} state={state!} />)}
    </details>
  );
}

interface ComposerProps {
  thread: string;
  live: Live;
  /** Called with the run that was started, and its text. */
  started: (run: Run, text: string) => void;
}

/** Questions of the run, its end if it failed, and the field for the next message. */
export function Composer({ thread, live, started }: ComposerProps) {
  const models = useData<Models>("api/models");
  const uploads = useData<Uploads>(thread && live.run ? path`api/threads/${thread}/uploads` : undefined);
  const [text, setText] = useState("");
  const [model, setModel] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const [problem, setProblem] = useState<GatewayError | undefined>();
  const [isSending, setSending] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const { run, state } = live;
  const isUnderWay = run?.status === "queued" || run?.status === "running";
  const questions = state && state.run === run?.id && state.end?.type === "run.interrupted" ? state.end.questions : [];
  if (models.data?.items.length === 0) return <p class="quiet composer-note">No model is configured here, so threads are only shown.</p>;

  const act = async (body: object, what: string) => {
    setSending(true);
    setProblem(undefined);
    try {
      if (files.length) await upload(thread, files);
      setFiles([]);
      started(await send<Run>(path`api/threads/${thread}/runs`, { body: { ...body, ...(model ? { model } : {}) } }), what);
      setText("");
      if (live.run) uploads.reload();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (error.status === 401) window.dispatchEvent(new Event("signed-out"));
      setProblem(error);
    } finally {
      setSending(false);
    }
  };
  const stop = () => send(path`api/threads/${thread}/runs/${run!.id}/cancel`, { method: "POST" }).then(live.watch, (error: GatewayError) => setProblem(error));
  const submit = () => {
    if (text.trim() && !isSending) void act({ message: text }, text);
  };
  const end = state?.run === run?.id && state?.end?.type === "run.failed" ? state.end.problem : run?.problem;
  return (
    <div class="composer">
      {problem && <Problem error={problem} />}
      {questions.length > 0 && <Questions key={run!.id} questions={questions} answer={(resume) => void act({ resume }, "")} />}
      {run?.status === "failed" && end && (
        <div class="problem" role="alert"><p>The run failed: {end.detail}</p><button type="button" onClick={() => void act({ retry: true }, "")}>Try again</button></div>
      )}
      {run?.status === "cancelled" && (
        <p class="status">The run was stopped. <button type="button" class="link" onClick={() => void act({ retry: true }, "")}>Continue it</button></p>
      )}
      <form onSubmit={(event) => { event.preventDefault(); submit(); }}>
        <textarea rows={2} value={text} aria-label="Message" placeholder={isUnderWay ? "A message for after this run" : "Message"}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              submit();
            }
          }} />
        <div class="buttons">
          <button type="button" class="plain" onClick={() => picker.current?.click()}>Add files</button>
          <input ref={picker} type="file" multiple hidden aria-label="Files"
            onChange={(event) => {
              setFiles([...files, ...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }} />
          {files.map((file) => (
            <button type="button" class="tag" key={file.name} title="Remove" onClick={() => setFiles(files.filter((one) => one !== file))}>{file.name} ×</button>
          ))}
          {uploads.data?.items.map((one) => <span class="tag" key={one.name}>{one.name}</span>)}
          <span class="spacer" />
          {models.data && models.data.items.length > 1 && (
            <select aria-label="Model" value={model} onChange={(event) => setModel(event.currentTarget.value)}>
              {models.data.items.map((one: Model, k) => <option key={one.name} value={k ? one.name : ""}>{one.display_name || one.name}</option>)}
            </select>
          )}
          {isUnderWay && <button type="button" onClick={stop}>Stop</button>}
          <button type="submit" class="act" disabled={!text.trim() || isSending}>Send</button>
        </div>
      </form>
    </div>
  );
}

async function upload(thread: string, files: File[]): Promise<void> {
  const body = new FormData();
  for (const file of files) body.append("files", file);
  const response = await fetch(path`api/threads/${thread}/uploads`, { method: "POST", headers: headers(), body }).catch(() => {
    throw new GatewayError(0, "The gateway cannot be reached; the files were not sent.");
  });
  if (!response.ok) throw await errorOf(response);
}

interface Action {
  name: string;
  args?: Record<string, unknown>;
}
type Decision = Record<string, unknown>;
const USUAL = ["approve", "edit", "reject"];

/** The actions that a question asks to approve, each with the decisions that are allowed. */
function actionsOf(question: Question): [Action, string[]][] {
  const value = (question.value ?? {}) as {
    action_requests?: Action[];
    review_configs?: { action_name: string; allowed_decisions?: string[] }[];
  };
  const allowed = new Map(value.review_configs?.map((one) => [one.action_name, one.allowed_decisions ?? USUAL]));
  return (value.action_requests ?? []).map((one) => [one, allowed.get(one.name) ?? USUAL]);
}

function Questions({ questions, answer }: { questions: Question[]; answer: (resume: unknown) => void }) {
  const [given, setGiven] = useState<Record<string, unknown>>({});
  const decide = (key: string, value: unknown) => {
    const all = { ...given, [key]: value };
    setGiven(all);
    const answers = questions.map((one): [string, unknown] => {
      const actions = actionsOf(one);
      if (!actions.length) return [one.id, all[one.id]];
      const decisions = actions.map((_, k) => all[`${one.id}/${k}`]);
      return [one.id, decisions.every(Boolean) ? { decisions } : undefined];
    });
    if (answers.every(([, value]) => value !== undefined)) answer(answers.length === 1 ? answers[0]![1] : Object.fromEntries(answers));
  };
  return (
    <section class="review questions" aria-labelledby="questions-title">
      <h2 id="questions-title">The agent waits for you</h2>
      {questions.map((one) => {
        const actions = actionsOf(one);
        if (!actions.length) return <Words key={one.id} question={one} answer={(text) => decide(one.id, text)} />;
        return actions.map(([action, allowed], k) => (
          <Approval key={`${one.id}/${k}`} action={action} allowed={allowed} decided={given[`${one.id}/${k}`] as Decision | undefined}
            decide={(decision) => decide(`${one.id}/${k}`, decision)} />
        ));
      })}
    </section>
  );
}

function Words({ question, answer }: { question: Question; answer: (text: string) => void }) {
  const [text, setText] = useState("");
  const asked = typeof question.value === "string" ? question.value : JSON.stringify(question.value, null, 2);
  return (
    <form onSubmit={(event) => { event.preventDefault(); answer(text); }}>
      <p dir="auto">{asked}</p>
      <p class="controls"><input type="text" required aria-label="Your answer" value={text} onInput={(event) => setText(event.currentTarget.value)} /><button type="submit" class="act">Answer</button></p>
    </form>
  );
}

const LABELS: Record<string, string> = { approve: "Approve", edit: "Edit", reject: "Reject", respond: "Set the result" };

function Approval({ action, allowed, decided, decide }: {
  action: Action;
  allowed: string[];
  decided: Decision | undefined;
  decide: (decision: Decision) => void;
}) {
  const [writes, setWrites] = useState("");
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const open = (kind: string) => {
    setWrites(kind);
    setText(kind === "edit" ? JSON.stringify(action.args ?? {}, null, 2) : "");
  };
  const give = () => {
    if (writes !== "edit") return decide({ type: writes, ...(text.trim() || writes === "respond" ? { message: text.trim() } : {}) });
    try {
      decide({ type: "edit", edited_action: { name: action.name, args: JSON.parse(text) as unknown } });
    } catch {
      setFault('These arguments are no JSON object: {"name": value}.');
    }
  };
  if (decided) return <p class="status">{action.name}: {LABELS[String(decided.type)]}.</p>;
  return (
    <div class="approval">
      <p>It asks to call <code>{action.name}</code> with</p>
      <pre class="open" dir="auto">{JSON.stringify(action.args ?? {}, null, 2)}</pre>
      {writes && (
        <form onSubmit={(event) => { event.preventDefault(); give(); }}>
          <textarea rows={writes === "edit" ? 6 : 2} value={text} aria-label={writes === "edit" ? "Arguments as JSON" : writes === "reject" ? "Reason, if you like" : "Result"} onInput={(event) => setText(event.currentTarget.value)} />
          {fault && <p class="bad">{fault}</p>}
          <p class="buttons"><button type="submit" class="act">{LABELS[writes]}</button><button type="button" class="plain" onClick={() => setWrites("")}>Back</button></p>
        </form>
      )}
      {!writes && (
        <p class="buttons">
          {allowed.map((kind) => (
            <button type="button" key={kind} class={kind === "approve" ? "act" : ""} onClick={() => (kind === "approve" ? decide({ type: kind }) : open(kind))}>{LABELS[kind] ?? kind}</button>
          ))}
        </p>
      )}
    </div>
  );
}
