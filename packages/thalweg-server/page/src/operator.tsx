// Screen 6: the state of the gateway for its operator, from `/metrics` and `/readyz`.
import { useEffect, useState } from "preact/hooks";
import type { Health, OwnerRows } from "./api";
import { count, money, moment } from "./format";
import { errorOf, GatewayError, headers, send } from "./http";
import { Figure, Loading, Problem } from "./parts";

const EVERY_MS = 5_000;

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Read the text that Prometheus reads. */
export function samplesOf(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const found = /^([a-z_]+)(?:\{(.*)\})? ([^ ]+)/.exec(line);
    if (!found) return [];
    const labels = [...(found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    return [{ name: found[1]!, labels: Object.fromEntries(labels.map(([, key, value]) => [key!, value!])), value: Number(found[3]) }];
  });
}

export function Operator() {
  const [samples, setSamples] = useState<Sample[] | undefined>();
  const [health, setHealth] = useState<Health | undefined>();
  const [error, setError] = useState<GatewayError | undefined>();
  const [at, setAt] = useState("");
  const [owners, setOwners] = useState<OwnerRows | undefined>();
  useEffect(() => {
    document.title = "Gateway – Thalweg";
    const stop = new AbortController();
    const options = { headers: headers(), signal: stop.signal };
    const load = async () => {
      if (document.hidden) return;
      try {
        const [metrics, ready] = await Promise.all([fetch("metrics", options), fetch("readyz", options)]);
        if (!metrics.ok) throw await errorOf(metrics);
        setHealth((await ready.json()) as Health); // 503 has the same shape
        setSamples(samplesOf(await metrics.text()));
        setOwners(await send<OwnerRows>("api/page/owners", { signal: stop.signal }).catch(forOperators));
        setAt(new Date().toISOString());
        setError(undefined);
      } catch (problem) {
        if (stop.signal.aborted) return;
        setError(problem instanceof GatewayError ? problem : new GatewayError(0, "The gateway cannot be reached. It is tried again."));
        if (problem instanceof GatewayError && problem.status === 401) window.dispatchEvent(new Event("signed-out"));
      }
    };
    void load();
    const timer = window.setInterval(load, EVERY_MS);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, []);
  const of = (name: string) => (samples ?? []).filter((one) => one.name === `thalweg_${name}`);
  const sum = (name: string) => of(name).reduce((total, one) => total + one.value, 0);
  const mean = (name: string) => {
    const n = sum(`${name}_count`);
    return n ? `${(sum(`${name}_sum`) / n).toFixed(1)} s` : "–";
  };
  const errors = [
    ...of("model_errors_total").map((one): Row => ["Model", `${one.labels.model}: ${one.labels.code}`, one.value]),
    ...of("tool_errors_total").map((one): Row => ["Tool", one.labels.kind ?? "", one.value]),
    ...of("limits_met_total").map((one): Row => ["Limit reached (429)", one.labels.limit ?? "", one.value]),
    ...of("requests_total").filter((one) => Number(one.labels.status) >= 500).map((one): Row => [`Answered with ${one.labels.status}`, one.labels.operation ?? "", one.value]),
    ...of("runs_total").filter((one) => one.labels.status === "failed").map((one): Row => ["Run", "failed", one.value]),
  ].filter(([, , n]) => n > 0);
  const models = [...new Set(of("tokens_total").map((one) => one.labels.model ?? ""))].sort();
  const tokens = (model: string, kind: string) => count(of("tokens_total").find((one) => one.labels.model === model && one.labels.kind === kind)?.value ?? 0);
  return (
    <main id="main" class="operator" tabIndex={-1}>
      <h1>Gateway</h1>
      <p class="quiet">{at ? `As of ${moment(at)}, since this process started.` : "The state of this process."} {health && `Version ${health.version}.`}</p>
      {error && <Problem error={error} />}
      {!samples && !error && <Loading what="the state" />}
      {samples && (
        <>
          <dl class="figures">
            <Figure name="Runs under way" value={count(sum("runs_running"))} about="here" />
            <Figure name="Queue" value={count(sum("queue_depth"))} about="runs that wait, anywhere" />
            <Figure name="Runs ended" value={count(sum("runs_total"))} about={of("runs_total").map((one) => `${count(one.value)} ${one.labels.status}`).join(", ")} />
            <Figure name="Wait for a worker" value={mean("run_wait_seconds")} about="on average" />
            <Figure name="First token" value={mean("model_first_token_seconds")} about="on average" />
            <Figure name="Open streams" value={count(sum("streams_open"))} />
            <Figure name="Taken over" value={count(sum("run_takeovers_total"))} about="runs of processes that died" />
          </dl>
          <section aria-labelledby="health-title">
            <h2 id="health-title">Health</h2>
            <Table label="Parts of the gateway" heads={["Part", "State", "Detail"]} rows={(health?.checks ?? []).map((one) => [one.name, one.status, one.detail])} bad={(row) => row[1] !== "ok"} />
          </section>
          <section aria-labelledby="errors-title">
            <h2 id="errors-title">Errors and limits</h2>
            {errors.length === 0 ? <p class="quiet">None.</p> : <Table label="Errors and limits" heads={["Where", "What", "Times"]} numbers={2} rows={errors.map(([where, what, n]) => [where, what, count(n)])} bad={() => true} />}
          </section>
          {owners && (
            <section aria-labelledby="owners-title">
              <h2 id="owners-title">Owners</h2>
              <Table label="Owners: runs under way, and use since midnight UTC" heads={["Owner", "Runs", "Tokens today", "Cost today"]} numbers={1}
                rows={owners.items.map(({ owner, runs, today, limits }) => [
                  owner,
                  ofLimit(count(runs), limits.runs_at_once, count),
                  ofLimit(count(today.input_tokens + today.output_tokens), limits.tokens_per_day, count),
                  ofLimit(money(today.cost, today.currency), limits.cost_per_day, money),
                ])} />
            </section>
          )}
          {models.length > 0 && (
            <section aria-labelledby="models-title">
              <h2 id="models-title">Models</h2>
              <Table label="Tokens and cost by model" heads={["Model", "Input", "Cached", "Output", "Cost"]} numbers={1}
                rows={models.map((model) => {
                  const cost = of("cost_total").find((one) => one.labels.model === model);
                  return [model, tokens(model, "input"), tokens(model, "cached"), tokens(model, "output"), cost ? money(cost.value, cost.labels.currency) : "unknown"];
                })} />
            </section>
          )}
        </>
      )}
    </main>
  );
}

/** Owners are shown to operators; others may read the metrics if the gateway lets them. */
function forOperators(problem: unknown): undefined {
  if (!(problem instanceof GatewayError) || problem.status !== 403) throw problem;
}

const ofLimit = (value: string, most: number | null | undefined, text: (n: number) => string): string => (most != null ? `${value} of ${text(most)}` : value);

type Row = [string, string, number];

interface TableProps {
  label: string;
  heads: string[];
  rows: string[][];
  /** Columns from this one on are numbers. */
  numbers?: number;
  bad?: (row: string[]) => boolean;
}

function Table({ label, heads, rows, numbers = heads.length, bad }: TableProps) {
  const kind = (column: number) => (column < numbers ? "" : "num");
  return (
    <div class="table-box">
      <table class="plain-table">
        <caption class="unseen">{label}</caption>
        <thead><tr>{heads.map((head, k) => <th key={head} scope="col" class={kind(k)}>{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.join()} class={bad?.(row) ? "bad" : ""}>{row.map((cell, k) => <td key={k} class={kind(k)}>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
