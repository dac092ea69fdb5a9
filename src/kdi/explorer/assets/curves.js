// The chart of a feature: the curve from x to T(x), with the histogram of x above it and the histogram of T(x) at its right.
//
// Each histogram shares an axis with the curve, which shows how the curve turns one into the other.

const BEFORE_HEIGHT = 76; // of the histogram of x, in pixels
const AFTER_WIDTH = 84; // of the histogram of T(x)
const CURVE_HEIGHT = 200;
const MAX_BOUNDARIES = 30; // drawn at most: more would hide everything else
const AXIS = { left: 44, bottom: 38, top: 6, right: 10, gap: 8 };

class CurveChart {
  // `width` in pixels; the range from `low` to `high`, offsets from the minimum, is shown.
  constructor(cells, name, width, [low, high]) {
    Object.assign(this, { cells, name, width, low, high });
    this.left = AXIS.left;
    this.right = width - AXIS.right - AFTER_WIDTH - AXIS.gap;
    this.base = AXIS.top + BEFORE_HEIGHT; // base line of the histogram of x
    this.top = this.base + AXIS.gap;
    this.bottom = this.top + CURVE_HEIGHT;
    this.side = this.right + AXIS.gap; // base line of the histogram of T(x)
    const before = histogramBefore(cells, low, high);
    [this.low, this.high] = [Math.min(low, before.low), Math.max(high, before.high)]; // so that no bar is cut off
    this.elements = this.build(before);
    this.element = this.elements.svg;
  }

  x(offset) {
    return this.left + ((offset - this.low) / (this.high - this.low)) * (this.right - this.left);
  }

  y(level) {
    return this.bottom - level * CURVE_HEIGHT;
  }

  // Return the offset from the minimum at a position on the screen, from 0 to the range.
  offsetAt(x) {
    const offset = this.low + ((x - this.left) / (this.right - this.left)) * (this.high - this.low);
    return Math.min(Math.max(offset, 0), this.cells.range);
  }

  build(before) {
    const { width, left, right, base, top, bottom, side } = this;
    const height = bottom + AXIS.bottom;
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "chart" });
    const add = (tag, attributes, ...children) => svg.appendChild(makeSvg(tag, attributes, ...children));
    const ticks = makeTicksThatFit(this.cells.minimum + this.low, this.cells.minimum + this.high, right - left);
    for (const { place, text } of ticks) {
      const x = toPixels(this.x(place - this.cells.minimum));
      add("path", { class: "grid", d: `M${x} ${top}V${bottom}` });
      add("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, text);
    }
    for (const level of [0, 0.25, 0.5, 0.75, 1]) {
      const y = toPixels(this.y(level));
      add("path", { class: "grid", d: `M${left} ${y}H${right}M${side} ${y}H${width - AXIS.right}` });
      add("text", { class: "tick", x: left - 6, y, dy: "0.32em", "text-anchor": "end" }, String(level));
    }
    const highest = Math.max(...before.shares, 1e-300);
    const edges = before.edges.map(([from, to]) => [this.x(from), this.x(to)]);
    const heights = Array.from(before.shares, (share) => (share / highest) * (BEFORE_HEIGHT - 14));
    add("path", { class: "before", d: barPath(edges, heights, base, true) });
    add("path", { class: "axis", d: `M${left} ${base}H${right}M${side} ${top}V${bottom}` });
    add("text", { class: "label", x: left, y: height - 6 }, shorten(this.name, Math.floor((right - left) / 7.5)));
    add("text", { class: "label", x: left - 6, y: top - 10, "text-anchor": "end" }, "T(x)");
    add("text", { class: "label", x: side, y: height - 6 }, "after");
    this.addNotes(add, before);
    return {
      svg,
      boundaries: add("path", { class: "boundary" }),
      minMax: add("path", { class: "min-max" }),
      quantile: add("path", { class: "quantile" }),
      after: add("path", { class: "after" }),
      highest: add("text", { class: "tick", x: width - AXIS.right, y: top - 4, "text-anchor": "end" }),
      curve: add("path", { class: "curve" }),
      cross: add("path", { class: "cross" }),
    };
  }

  // Note the share of values outside of the range that is shown, and how far they reach.
  addNotes(add, before) {
    const { minimum, range } = this.cells;
    const y = AXIS.top + 9;
    const both = this.low > 0 && this.high < range;
    const describe = (share, word, x) => (both && this.width < 480 ? formatBriefly(x) : `${formatShare(share)} ${word} ${formatNumber(x)}`);
    if (this.low > 0) add("text", { class: "note", x: this.left, y }, `◂ ${describe(before.below, "from", minimum)}`);
    if (this.high < range) {
      const text = `${describe(before.above, "up to", minimum + range)} ▸`;
      add("text", { class: "note", x: this.right, y, "text-anchor": "end" }, text);
    }
  }

  // Return the offsets at which curves are drawn: one per pixel between the smallest and the largest value.
  places() {
    const [from, to] = [Math.max(this.low, 0), Math.min(this.high, this.cells.range)];
    const count = Math.max(Math.round(this.x(to) - this.x(from)), 2);
    return Float64Array.from({ length: count + 1 }, (_, k) => from + (to - from) * (k / count));
  }

  pathOf(curve) {
    const places = this.places();
    return linePath(
      places.map((place) => this.x(place)),
      places.map((place) => this.y(curve.level(place))),
    );
  }

  // Draw the curve of one alpha with its boundaries.
  update(curve, boundaries) {
    const { elements, cells } = this;
    if (!elements.quantile.hasAttribute("d")) {
      elements.quantile.setAttribute("d", this.pathOf(LineCurve.ranks(cells)));
      elements.minMax.setAttribute("d", this.pathOf(LineCurve.straight(cells.range)));
    }
    elements.curve.setAttribute("d", this.pathOf(curve));
    const shares = histogramAfter(cells, curve);
    const highest = Math.max(...shares);
    const edges = Array.from(shares, (_, k) => [this.y((k + 1) / shares.length), this.y(k / shares.length)]);
    elements.after.setAttribute("d", barPath(edges, Array.from(shares, (share) => (share / highest) * (AFTER_WIDTH - 4)), this.side, false));
    elements.highest.textContent = `▸ ${formatShare(highest)}`;
    let lines = "";
    for (const boundary of boundaries.length > MAX_BOUNDARIES ? [] : boundaries) {
      const offset = boundary - cells.minimum;
      const y = toPixels(this.y(curve.level(offset)));
      const seen = offset >= this.low && offset <= this.high; // if not, only its T is drawn
      if (seen) lines += `M${toPixels(this.x(offset))} ${AXIS.top + 14}V${y}`;
      lines += `M${toPixels(seen ? this.x(offset) : this.side)} ${y}H${this.width - AXIS.right}`;
    }
    elements.boundaries.setAttribute("d", lines);
  }

  // Draw a cross at an offset, or remove it.
  markOffset(curve, offset) {
    if (offset === null || offset < this.low || offset > this.high) {
      this.elements.cross.removeAttribute("d");
      return;
    }
    const [x, y] = [toPixels(this.x(offset)), toPixels(this.y(curve.level(offset)))];
    this.elements.cross.setAttribute("d", `M${x} ${AXIS.top}V${this.bottom}M${this.left} ${y}H${this.width - AXIS.right}`);
  }
}
