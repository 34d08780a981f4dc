// Charts by hand in SVG: tokens by section over the calls, and cost accumulated.
import type { Call, Change } from "./api";
import { count, money, moment, sectionsOf, SECTIONS, short } from "./format";
import { useWidth } from "./hooks";

const LEFT = 52;
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 24;

/** Three to five round numbers from 0 to a maximum. */
function ticks(most: number): number[] {
  if (most <= 0) return [0];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const found = [];
  for (let value = 0; value <= most * 1.001; value += step) found.push(value);
  return found;
}

interface Frame {
  width: number;
  height: number;
  x: (index: number) => number;
  y: (value: number) => number;
}

function frame(width: number, height: number, length: number, most: number): Frame {
  const inner = width - LEFT - RIGHT;
  return {
    width,
    height,
    x: (index) => LEFT + (length < 2 ? inner / 2 : (inner * index) / (length - 1)),
    y: (value) => height - BOTTOM - ((height - TOP - BOTTOM) * value) / (most || 1),
  };
}

function Axes({ at, values, text, length }: {
  at: Frame;
  values: number[];
  text: (value: number) => string;
  length: number;
}) {
  const step = ticks(length)[1] ?? length;
  const marks = [0];
  for (let turn = Math.max(1, step); turn < length - step / 3; turn += step) marks.push(turn - 1);
  marks.push(length - 1);
  return (
    <g class="axes" aria-hidden="true">
      {values.map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={at.width - RIGHT} y1={at.y(value)} y2={at.y(value)} />
          <text x={LEFT - 8} y={at.y(value) + 4} text-anchor="end">{text(value)}</text>
        </g>
      ))}
      {[...new Set(marks)].map((index) => (
        <text key={index} x={at.x(index)} y={at.height - 6} text-anchor={index === 0 ? "start" : index === length - 1 ? "end" : "middle"}>
          {index === 0 ? `call ${index + 1}` : count(index + 1)}
        </text>
      ))}
    </g>
  );
}

function pick(event: MouseEvent, at: Frame, length: number, choose: (index: number) => void): void {
  const box = (event.currentTarget as SVGElement).getBoundingClientRect();
  const part = (event.clientX - box.left - LEFT) / (at.width - LEFT - RIGHT);
  choose(Math.max(0, Math.min(length - 1, Math.round(part * (length - 1)))));
}

interface ChartProps {
  calls: Call[];
  changes: Change[];
  chosen: number;
  choose: (index: number) => void;
}

const turnsWith = (calls: Call[], changes: Change[], kind: string): number[] => {
  const turns = new Set(changes.filter((one) => one.kind === kind).map((one) => one.turn));
  return calls.flatMap((call, index) => (turns.has(call.turn) ? [index] : []));
};

export function TokensChart({ calls, changes, chosen, choose }: ChartProps) {
  const [ref, width] = useWidth();
  const window = Math.max(0, ...calls.map((call) => call.window));
  const highest = Math.max(1, ...calls.map((call) => call.tokens));
  const most = window && highest > window / 3 ? Math.max(window, highest) : highest * 1.08;
  const at = frame(width, 220, calls.length, most);
  const keys = SECTIONS.map(([key]) => key).filter((key) => calls.some((call) => (call.sections[key] ?? 0) > 0));
  const below = calls.map(() => 0);
  const areas = keys.map((key) => {
    const lower = [...below];
    calls.forEach((call, k) => (below[k] = below[k]! + (call.sections[key] ?? 0)));
    const forth = below.map((value, k) => `${at.x(k).toFixed(1)},${at.y(value).toFixed(1)}`);
    const back = lower.map((value, k) => `${at.x(k).toFixed(1)},${at.y(value).toFixed(1)}`).reverse();
    return { key, points: [...forth, ...back].join(" ") };
  });
  const compactions = turnsWith(calls, changes, "compaction");
  const totals = sectionsOf(Object.fromEntries(keys.map((key) => [key, 1])));
  const label = `Tokens of ${calls.length} calls by section, at most ${count(highest)}, with ${compactions.length} compactions`;
  return (
    <figure>
      <figcaption>
        <h2>Tokens of each request</h2>
        <ul class="legend">
          {totals.map(([key, name, colour]) => (
            <li key={key}><i class={`swatch c${colour}`} />{name}</li>
          ))}
          {compactions.length > 0 && <li><i class="mark" />compaction</li>}
        </ul>
      </figcaption>
      <div ref={ref} class="chart">
        {width > 0 && (
          <svg width={width} height={at.height} role="img" aria-label={label} onClick={(e) => pick(e, at, calls.length, choose)}>
            <Axes at={at} values={ticks(most)} text={short} length={calls.length} />
            {areas.map(({ key, points }) => (
              <polygon key={key} points={points} class={`c${SECTIONS.find(([name]) => name === key)?.[2] ?? 3}`} />
            ))}
            {window > 0 && window <= most && (
              <g class="limit">
                <line x1={LEFT} x2={width - RIGHT} y1={at.y(window)} y2={at.y(window)} />
                <text x={LEFT + 4} y={at.y(window) - 5}>window</text>
              </g>
            )}
            {compactions.map((index) => (
              <g key={index} class="compaction">
                <line x1={at.x(index)} x2={at.x(index)} y1={TOP - 4} y2={at.height - BOTTOM} />
                <path d={`M${at.x(index) - 5},${TOP - 10}h10l-5,7z`} />
              </g>
            ))}
            {calls[chosen] && (
              <line class="chosen" x1={at.x(chosen)} x2={at.x(chosen)} y1={TOP} y2={at.height - BOTTOM} />
            )}
          </svg>
        )}
      </div>
    </figure>
  );
}

export function CostChart({ calls, changes, chosen, choose, currency }: ChartProps & { currency: string }) {
  const [ref, width] = useWidth();
  let paid = 0;
  const paidCourse = calls.map((call) => (paid += call.cost ?? 0));
  let saved: number | null = null;
  const savedCourse = calls.map((call) => (saved = call.saved ?? saved));
  const hasWhole = savedCourse.some((value) => value !== null);
  const whole = paidCourse.map((value, k) => value + (savedCourse[k] ?? 0));
  const most = Math.max(0.000001, ...paidCourse, ...(hasWhole ? whole : [])) * 1.06;
  const at = frame(width, 200, calls.length, most);
  const line = (values: number[]) =>
    values.map((value, k) => `${k ? "L" : "M"}${at.x(k).toFixed(1)},${at.y(value).toFixed(1)}`).join("");
  const last = calls.length - 1;
  const index = calls[chosen] ? chosen : last;
  return (
    <figure>
      <figcaption>
        <h2>Cost so far</h2>
        <ul class="legend">
          <li><i class="line paid" />paid</li>
          {hasWhole && <li><i class="line whole" />if everything had been sent</li>}
        </ul>
      </figcaption>
      <div ref={ref} class="chart">
        {width > 0 && (
          <svg width={width} height={at.height} role="img" onClick={(e) => pick(e, at, calls.length, choose)}
            aria-label={`Cost over ${calls.length} calls: ${money(paidCourse[last], currency)} paid${hasWhole ? `, ${money(whole[last], currency)} if everything had been sent` : ""}`}>
            <Axes at={at} values={ticks(most)} text={(value) => money(value, currency).replace(/\.00$/, "")} length={calls.length} />
            {turnsWith(calls, changes, "compaction").map((k) => (
              <line key={k} class="compaction" x1={at.x(k)} x2={at.x(k)} y1={TOP} y2={at.height - BOTTOM} />
            ))}
            {hasWhole && <path class="line whole" d={line(whole)} />}
            <path class="line paid" d={line(paidCourse)} />
            <line class="chosen" x1={at.x(index)} x2={at.x(index)} y1={TOP} y2={at.height - BOTTOM} />
            <circle class="paid" cx={at.x(index)} cy={at.y(paidCourse[index] ?? 0)} r="3.5" />
          </svg>
        )}
      </div>
      <p class="quiet reading">
        {calls[index] && (
          <>
            Call {count(calls[index].turn)}{calls[index].at ? `, ${moment(calls[index].at)}` : ""}: {money(calls[index].cost, currency)} for this call,{" "}
            {money(paidCourse[index], currency)} so far
            {hasWhole && <>; {money(whole[index], currency)} if everything had been sent</>}.
          </>
        )}
      </p>
    </figure>
  );
}

/** One bar: the sections of a request, and the free space of the window. */
export function SectionBar({ sections, window, limit }: {
  sections: Record<string, number>;
  window: number;
  limit: number;
}) {
  const parts = sectionsOf(sections);
  const used = parts.reduce((sum, [, , , tokens]) => sum + tokens, 0);
  const whole = Math.max(window, used) || 1;
  const free = whole - used;
  return (
    <div class="sections">
      <div class="bar" role="img" aria-label={`${count(used)} tokens${window ? ` of ${count(window)}` : ""}`}>
        {parts.map(([key, name, colour, tokens]) => (
          <span key={key} class={`c${colour}`} title={`${name}: ${count(tokens)} tokens`} style={{ width: `${(100 * tokens) / whole}%` }} />
        ))}
        {limit > 0 && limit < whole && <b class="limit-mark" title={`Budget: ${count(limit)} tokens`} style={{ left: `${(100 * limit) / whole}%` }} />}
      </div>
      <ul class="legend numbers">
        {parts.map(([key, name, colour, tokens]) => (
          <li key={key}><i class={`swatch c${colour}`} />{name} <span>{count(tokens)}</span></li>
        ))}
        {window > 0 && <li><i class="swatch free" />free <span>{count(Math.max(0, free))}</span></li>}
      </ul>
    </div>
  );
}
