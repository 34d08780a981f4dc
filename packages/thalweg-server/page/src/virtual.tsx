// A list that renders only the rows on screen; heights are measured as rows appear.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

const OVERSCAN_PX = 900;
/** Height of what remains at the top of the window. */
const STICKY_PX = 110;

interface Props {
  length: number;
  row: (index: number) => ComponentChildren;
  label: string;
  estimate?: number;
  /** The row to begin at; a change scrolls there. */
  start?: number | undefined;
  /** Called with the first and last row on screen. */
  onRange?: (first: number, last: number) => void;
}

/** Heights of rows: measured ones, and an estimate for others. */
class Heights {
  private measured = new Map<number, number>();
  private sums: Float64Array;
  private dirty = true;

  constructor(
    readonly length: number,
    private estimate: number,
  ) {
    this.sums = new Float64Array(length + 1);
  }

  set(index: number, height: number): boolean {
    if (this.measured.get(index) === height) return false;
    this.measured.set(index, height);
    this.dirty = true;
    return true;
  }

  /** The same for another number of rows. */
  resized(length: number): Heights {
    const found = new Heights(length, this.estimate);
    for (const [index, height] of this.measured) if (index < length) found.set(index, height);
    return found;
  }

  private sum(): Float64Array {
    if (this.dirty) {
      for (let k = 0; k < this.length; k++) {
        this.sums[k + 1] = this.sums[k]! + (this.measured.get(k) ?? this.estimate);
      }
      this.dirty = false;
    }
    return this.sums;
  }

  top(index: number): number {
    return this.sum()[Math.min(index, this.length)] ?? 0;
  }

  at(offset: number): number {
    const sums = this.sum();
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (sums[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

/** The list scrolls with the page: nothing scrolls inside of it. */
export function VirtualList({ length, row, label, estimate = 84, start, onRange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Heights(length, estimate));
  if (heights.current.length !== length) heights.current = heights.current.resized(length);
  const [, redraw] = useState(0);
  const [view, setView] = useState({ top: 0, height: window.innerHeight });
  // The row that remains in place while rows above it are measured.
  const anchor = useRef({ index: 0, offset: 0 });
  const placed = useRef(-1);

  const above = () => (box.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
  const place = (offset: number) => {
    window.scrollTo({ top: above() + offset, behavior: "instant" });
    placed.current = window.scrollY;
  };
  const onScroll = useCallback(() => {
    const top = window.scrollY - above();
    if (Math.abs(window.scrollY - placed.current) > 1) {
      const index = heights.current.at(Math.max(0, top));
      anchor.current = { index, offset: top - heights.current.top(index) };
      placed.current = -1;
    }
    setView({ top, height: window.innerHeight });
  }, []);

  useLayoutEffect(() => {
    if (start !== undefined && length > 0) {
      const index = Math.min(start, length - 1);
      anchor.current = { index, offset: index ? -STICKY_PX : 0 };
      if (index) place(heights.current.top(index) - STICKY_PX);
    }
    onScroll();
  }, [start, length > 0]);

  useEffect(() => {
    window.addEventListener("scroll", onScroll, { passive: true });
    window.addEventListener("resize", onScroll);
    return () => {
      window.removeEventListener("scroll", onScroll);
      window.removeEventListener("resize", onScroll);
    };
  }, []);

  useLayoutEffect(() => {
    let changed = false;
    for (const child of box.current?.children ?? []) {
      const element = child as HTMLElement;
      changed = heights.current.set(Number(element.dataset.row), element.offsetHeight) || changed;
    }
    if (changed) {
      const wanted = heights.current.top(anchor.current.index) + anchor.current.offset;
      // The box has its new height only after the next rendering.
      if (box.current) box.current.style.height = `${heights.current.top(length)}px`;
      if (anchor.current.index > 0 && Math.abs(above() + wanted - window.scrollY) > 1) place(wanted);
      redraw((n) => n + 1);
    }
  });

  const first = length ? heights.current.at(Math.max(0, view.top - OVERSCAN_PX)) : 0;
  const last = length ? heights.current.at(Math.max(0, view.top + view.height + OVERSCAN_PX)) : -1;
  useEffect(() => {
    if (length) onRange?.(first, last);
  }, [first, last, length, onRange]);

  const rows = [];
  for (let index = first; index <= last && index < length; index++) {
    rows.push(
      <div key={index} data-row={index} role="listitem" aria-setsize={length} aria-posinset={index + 1} class="row"
        style={{ transform: `translateY(${heights.current.top(index)}px)` }}>
        {row(index)}
      </div>,
    );
  }
  return (
    <div class="virtual" ref={box} role="list" aria-label={label} style={{ height: `${heights.current.top(length)}px` }}>
      {rows}
    </div>
  );
}
