// The chart of a feature: the histogram before above the curve from x to T(x), the histogram after at its right.
//
// Both histograms share an axis with the curve, so that one sees how it turns one into the other.

const TOP = 76; // of the histogram before, in pixels
const SIDE = 84; // of the histogram after
const CURVE = 200;
const MOST_BOUNDARIES = 30; // that are drawn: of more, nothing else would be seen
const AXIS = { left: 44, bottom: 38, top: 6, right: 10, gap: 8 };

class CurveChart {
  // `width` in pixels; `low` and `high` are the offsets from the minimum that are shown.
  constructor(cells, name, width, [low, high]) {
    Object.assign(this, { cells, name, width, low, high });
    this.left = AXIS.left;
    this.right = width - AXIS.right - SIDE - AXIS.gap;
    this.base = AXIS.top + TOP; // of the histogram before
    this.top = this.base + AXIS.gap;
    this.bottom = this.top + CURVE;
    this.side = this.right + AXIS.gap; // of the histogram after
    const before = histogramBefore(cells, low, high);
    [this.low, this.high] = [Math.min(low, before.low), Math.max(high, before.high)]; // room for whole bars
    this.parts = this.build(before);
    this.element = this.parts.svg;
  }

  x(offset) {
    return this.left + ((offset - this.low) / (this.high - this.low)) * (this.right - this.left);
  }

  y(level) {
    return this.bottom - level * CURVE;
  }

  // The offset from the minimum at a place on the screen, from 0 to the range.
  offsetAt(x) {
    const offset = this.low + ((x - this.left) / (this.right - this.left)) * (this.high - this.low);
    return Math.min(Math.max(offset, 0), this.cells.range);
  }

  build(before) {
    const { width, left, right, base, top, bottom, side } = this;
    const height = bottom + AXIS.bottom;
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "chart" });
    const add = (tag, attributes, ...children) => svg.appendChild(makeSvg(tag, attributes, ...children));
    const ticks = ticksThatFit(this.cells.minimum + this.low, this.cells.minimum + this.high, right - left);
    for (const { place, text } of ticks) {
      const x = pixel(this.x(place - this.cells.minimum));
      add("path", { class: "grid", d: `M${x} ${top}V${bottom}` });
      add("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, text);
    }
    for (const level of [0, 0.25, 0.5, 0.75, 1]) {
      const y = pixel(this.y(level));
      add("path", { class: "grid", d: `M${left} ${y}H${right}M${side} ${y}H${width - AXIS.right}` });
      add("text", { class: "tick", x: left - 6, y, dy: "0.32em", "text-anchor": "end" }, String(level));
    }
    const highest = Math.max(...before.shares, 1e-300);
    const edges = before.edges.map(([from, to]) => [this.x(from), this.x(to)]);
    const heights = Array.from(before.shares, (share) => (share / highest) * (TOP - 14));
    add("path", { class: "before", d: barPath(edges, heights, base, true) });
    add("path", { class: "axis", d: `M${left} ${base}H${right}M${side} ${top}V${bottom}` });
    add("text", { class: "label", x: left, y: height - 6 }, shortened(this.name, Math.floor((right - left) / 7.5)));
    add("text", { class: "label", x: left - 6, y: top - 10, "text-anchor": "end" }, "T(x)");
    add("text", { class: "label", x: side, y: height - 6 }, "after");
    this.addNotes(add, before);
    return {
      svg,
      boundaries: add("path", { class: "boundary" }),
      minMax: add("path", { class: "min-max" }),
      quantile: add("path", { class: "quantile" }),
      after: add("path", { class: "after" }),
      most: add("text", { class: "tick", x: width - AXIS.right, y: top - 4, "text-anchor": "end" }),
      curve: add("path", { class: "curve" }),
      cross: add("path", { class: "cross" }),
    };
  }

  // What lies outside of the range that is shown, and how far.
  addNotes(add, before) {
    const { minimum, range } = this.cells;
    const y = AXIS.top + 9;
    const both = this.low > 0 && this.high < range;
    const said = (share, word, x) => (both && this.width < 480 ? sayBriefly(x) : `${sayShare(share)} ${word} ${sayNumber(x)}`);
    if (this.low > 0) add("text", { class: "note", x: this.left, y }, `◂ ${said(before.below, "from", minimum)}`);
    if (this.high < range) {
      const text = `${said(before.above, "on to", minimum + range)} ▸`;
      add("text", { class: "note", x: this.right, y, "text-anchor": "end" }, text);
    }
  }

  // Where curves are drawn: every pixel, between the smallest and the largest value.
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

  // Draw T at one alpha with its boundaries.
  update(curve, boundaries) {
    const { parts, cells } = this;
    if (!parts.quantile.hasAttribute("d")) {
      parts.quantile.setAttribute("d", this.pathOf(LineCurve.ranks(cells)));
      parts.minMax.setAttribute("d", this.pathOf(LineCurve.straight(cells.range)));
    }
    parts.curve.setAttribute("d", this.pathOf(curve));
    const shares = histogramAfter(cells, curve);
    const highest = Math.max(...shares);
    const edges = Array.from(shares, (_, k) => [this.y((k + 1) / shares.length), this.y(k / shares.length)]);
    parts.after.setAttribute("d", barPath(edges, Array.from(shares, (share) => (share / highest) * (SIDE - 4)), this.side, false));
    parts.most.textContent = `▸ ${sayShare(highest)}`;
    let lines = "";
    for (const boundary of boundaries.length > MOST_BOUNDARIES ? [] : boundaries) {
      const offset = boundary - cells.minimum;
      const y = pixel(this.y(curve.level(offset)));
      const seen = offset >= this.low && offset <= this.high; // of others, what becomes of them is seen
      if (seen) lines += `M${pixel(this.x(offset))} ${AXIS.top + 14}V${y}`;
      lines += `M${pixel(seen ? this.x(offset) : this.side)} ${y}H${this.width - AXIS.right}`;
    }
    parts.boundaries.setAttribute("d", lines);
  }

  // A cross at an offset, or none.
  point(curve, offset) {
    if (offset === null || offset < this.low || offset > this.high) {
      this.parts.cross.removeAttribute("d");
      return;
    }
    const [x, y] = [pixel(this.x(offset)), pixel(this.y(curve.level(offset)))];
    this.parts.cross.setAttribute("d", `M${x} ${AXIS.top}V${this.bottom}M${this.left} ${y}H${this.width - AXIS.right}`);
  }
}
