// The card of a feature: its chart, its own alpha, its statistics and the effect of the alpha.

const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const MIN_WIDTH = 300; // of a chart, in pixels
const MAX_WIDTH = 620;
const PRINT_WIDTH = 400; // on paper

class FeatureCard {
  // `page` has the alphas, the kernel and `showAll`; its `alphaChanged` is called when the alpha changes.
  constructor(feature, index, page) {
    Object.assign(this, { feature, index, page, step: page.step, shown: null });
    this.heading = make("h3", { id: `feature-${index}` }, feature.name.trim() ? feature.name : "(no name)");
    this.body = make("div", { class: "body" });
    this.element = make("section", { class: "card", "aria-labelledby": `feature-${index}` }, this.heading, this.body);
  }

  get alpha() {
    return this.page.alphas[this.step];
  }

  // The contents of a card are built when it is first drawn.
  build() {
    this.cells = new Cells(this.feature);
    this.element.classList.add("built");
    const farthest = Math.max(Math.abs(this.feature.minimum), Math.abs(this.feature.maximum));
    this.digits = this.cells.range > 0 ? Math.min(4 + Math.max(Math.floor(Math.log10(farthest / this.cells.range)), 0), 16) : 6;
    this.slider = make("input", {
      type: "range",
      id: `alpha-${this.index}`,
      min: 0,
      max: this.page.alphas.length - 1,
      step: 1,
    });
    this.output = make("output", { for: `alpha-${this.index}` });
    const control = make("div", { class: "control" }, make("label", { for: `alpha-${this.index}` }, "alpha "), this.slider, this.output);
    this.slider.addEventListener("input", () => {
      this.choose(Number(this.slider.value));
      this.page.alphaChanged();
      announce(`${this.feature.name}: ${this.effect.textContent}`);
    });
    this.figure = make("div", { class: "figure" });
    this.effect = make("p", { class: "effect" });
    this.facts = make("dl", { class: "facts" });
    this.body.append(this.figure);
    if (!this.cells.length || !(this.cells.range > 0)) {
      this.figure.append(make("p", { class: "empty" }, this.cells.length ? "Only one distinct value: its T is 0 at any alpha." : "No values."));
      this.body.append(this.facts);
    } else {
      this.body.append(control, this.effect, this.buildProbe(), this.facts, this.buildNumbers());
    }
    this.writeFacts();
  }

  // An input for any value x, and its T.
  buildProbe() {
    const id = `probe-${this.index}`;
    this.probe = make("input", { type: "number", id, step: "any", value: Number(this.quantiles[2].toPrecision(this.digits)) });
    this.level = make("output", { for: id, class: "level" });
    this.probe.addEventListener("input", () => this.writeLevel());
    this.probe.addEventListener("blur", () => this.markOffset(null));
    this.figure.addEventListener("pointermove", (event) => this.pointAt(event));
    this.figure.addEventListener("pointerleave", () => this.markOffset(null));
    return make("p", { class: "probe" }, make("label", { for: id }, "x = "), this.probe, " gives T(x) = ", this.level);
  }

  buildNumbers() {
    const table = make("table");
    this.numbers = make("details", { class: "numbers" }, make("summary", {}, "Numbers"), make("div", { class: "scroll" }, table));
    this.numbers.addEventListener("toggle", () => this.writeNumbers());
    return this.numbers;
  }

  // The quantiles of the values.
  get quantiles() {
    this.found ??= findQuantiles(this.cells, QUANTILES).map((offset) => this.cells.minimum + offset);
    return this.found;
  }

  choose(step) {
    this.step = step;
    if (this.isBuilt) this.draw();
  }

  get isBuilt() {
    return this.cells !== undefined;
  }

  // Draw what has changed: the whole chart if its width or range has, else only the curve.
  draw() {
    if (!this.isBuilt) this.build();
    if (!this.slider.isConnected) return;
    const measured = this.page.printing ? PRINT_WIDTH : Math.round(this.figure.clientWidth) || PRINT_WIDTH;
    const frame = `${Math.min(Math.max(measured, MIN_WIDTH), MAX_WIDTH)} ${this.page.showAll}`;
    const wanted = `${frame} ${this.step}`;
    if (this.shown === wanted) return;
    if (this.frame !== frame) {
      this.frame = frame;
      const range = this.page.showAll ? [0, this.cells.range] : rangeWithoutOutliers(this.cells);
      this.chart = new CurveChart(this.cells, this.feature.name, Number(frame.split(" ")[0]), range);
      this.figure.replaceChildren(this.chart.element);
    }
    this.shown = wanted;
    this.curve = makeCurve(this.cells, this.alpha, this.page.kernel);
    this.boundaries = findBoundaries(this.cells, this.curve);
    this.chart.update(this.curve, this.boundaries);
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", describeAlpha(this.alpha));
    this.output.textContent = describeAlpha(this.alpha);
    this.writeEffect();
    this.writeLevel(false);
    this.writeNumbers();
  }

  levelOf(x) {
    return levelAt(this.cells, this.curve, x);
  }

  writeEffect() {
    const [first, , , , last] = this.quantiles;
    const share = this.levelOf(last) - this.levelOf(first);
    const found = this.boundaries.length;
    const shown = this.boundaries.slice(0, 6).map((x) => formatNumber(x, this.digits)).join(", ");
    const groups = found ? `${found + 1} groups, separated at ${shown}${found > 6 ? " …" : "."}` : "One group.";
    this.effect.textContent = `The middle 90% of the values fill ${formatShare(share)} of the range. ${groups}`;
    this.chart.element.setAttribute(
      "aria-label",
      `Histogram of ${this.feature.name}, curve from x to T(x) at alpha ${formatAlpha(this.alpha)}, and histogram of T. ${this.effect.textContent}`,
    );
  }

  writeLevel(mark = true) {
    const x = this.probe.value === "" ? NaN : Number(this.probe.value);
    this.level.textContent = Number.isNaN(x) ? "" : this.levelOf(x).toFixed(6);
    if (mark) this.markOffset(Number.isNaN(x) ? null : Math.min(Math.max(x - this.cells.minimum, 0), this.cells.range));
  }

  markOffset(offset) {
    this.chart.markOffset(this.curve, offset);
  }

  // Show the value under the pointer, rounded to the precision of a pixel.
  pointAt(event) {
    const box = this.chart.element.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.chart.width;
    if (x < this.chart.left || x > this.chart.right) {
      this.markOffset(null);
      return;
    }
    const offset = this.chart.offsetAt(x);
    this.markOffset(offset);
    this.probe.value = Number((this.cells.minimum + offset).toPrecision(this.digits + 2));
    this.level.textContent = this.curve.level(offset).toFixed(6);
  }

  writeNumbers() {
    if (!this.numbers?.open || !this.curve) return;
    const { cells } = this;
    const curves = { quantile: LineCurve.ranks(cells), minMax: LineCurve.straight(cells.range) };
    const rows = [["minimum", cells.minimum], ...QUANTILES.map((share, k) => [formatShare(share), this.quantiles[k]]), ["maximum", cells.minimum + cells.range]];
    const head = make("tr");
    for (const text of ["quantile of x", "x", `T(x), alpha = ${formatAlpha(this.alpha)}`, "quantile transform", "min-max"]) head.append(make("th", { scope: "col" }, text));
    const table = this.numbers.querySelector("table");
    table.replaceChildren(make("thead", {}, head), make("tbody"));
    for (const [share, x] of rows) {
      const levels = [this.curve, curves.quantile, curves.minMax].map((curve) => levelAt(cells, curve, x).toFixed(6));
      const row = make("tr", {}, make("th", { scope: "row" }, share), make("td", { "data-x": x }, formatNumber(x, this.digits + 2)));
      row.append(...levels.map((level) => make("td", {}, level)));
      table.tBodies[0].append(row);
    }
  }

  writeFacts() {
    const { feature, cells } = this;
    const facts = [["values", formatExactly(feature.count)]];
    if (feature.missing) facts.push(["missing", formatExactly(feature.missing)]);
    if (feature.weight !== feature.count) facts.push(["weight", formatNumber(feature.weight, 6)]);
    if (cells.length) {
      facts.push(["minimum", formatNumber(feature.minimum, this.digits)]);
      if (cells.range > 0) {
        facts.push(["median", formatNumber(this.quantiles[2], this.digits)], ["mean", formatNumber(feature.mean, this.digits)], ["std. dev.", formatNumber(feature.std)]);
      }
      facts.push(["maximum", formatNumber(feature.maximum, this.digits)]);
    }
    if (cells.range > 0) facts.push(["error of T", `≤ ${formatNumber(feature.error, 1)}`]);
    if (cells.range > 0 && feature.rank_error > 1e-6) facts.push(["error at alpha 0", `≤ ${formatNumber(feature.rank_error, 1)}`]);
    for (const [name, value] of facts) this.facts.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }
}
