// The correlation section: three heat maps, the pairs whose coefficients disagree most, and the density scatter of one pair.

const PAIRS_LISTED = 10;

class CorrelationView {
  constructor(data, features) {
    this.data = data;
    this.names = data.features.map((place) => features[place].name);
    this.alphas = data.alphas.map((alpha) => alpha ?? Infinity);
    this.n = this.names.length;
    this.matrix = this.alphas.indexOf(1);
    this.against = "pearson";
    this.cursor = null;
    this.scatter = new ScatterChart(data.scatter);
    this.element = document.getElementById("correlations");
    this.maps = {
      pearson: new HeatMap(this, "Pearson"),
      spearman: new HeatMap(this, "Spearman"),
      kdi: new HeatMap(this, "KD-integral"),
    };
    this.build();
    this.drawMaps();
    this.chosen = this.largestDisagreements()[0] ?? [0, 1];
    this.writeTable();
    this.choose(...this.chosen, false);
  }

  // Return the correlation of two columns at one of the alphas, or null if it is undefined.
  at(matrix, i, j) {
    if (i === j) return 1;
    const [low, high] = [Math.min(i, j), Math.max(i, j)];
    return this.data.matrices[matrix][low * this.n - (low * (low + 1)) / 2 + (high - low - 1)];
  }

  coefficients(i, j) {
    return { pearson: this.at(this.alphas.length - 1, i, j), spearman: this.at(0, i, j), kdi: this.at(this.matrix, i, j) };
  }

  build() {
    const get = (id) => this.element.querySelector(`#${id}`);
    get("maps").append(...Object.values(this.maps).map((map) => map.element));
    get("legend").append(colourLegend());
    this.pointed = get("pointed");
    this.panel = get("pair");
    this.table = get("disagreements");
    const between = this.alphas.map((alpha, k) => [alpha, k]).filter(([alpha]) => alpha > 0 && alpha < Infinity);
    this.fillSelect(get("matrix-alpha"), between.map(([alpha, k]) => [k, formatAlpha(alpha)]), this.matrix, (value) => {
      this.matrix = Number(value);
      this.drawMaps();
      this.writeTable();
      this.choose(...this.chosen, false);
    });
    this.fillSelect(get("against"), [["pearson", "Pearson"], ["spearman", "Spearman"]], this.against, (value) => {
      this.against = value;
      this.writeTable();
    });
    const columns = this.names.map((name, k) => [k, shorten(name, 40)]);
    this.first = this.fillSelect(get("first-column"), columns, 0, (value) => this.choose(Number(value), Number(this.second.value)));
    this.second = this.fillSelect(get("second-column"), columns, 1, (value) => this.choose(Number(this.first.value), Number(value)));
  }

  fillSelect(select, choices, chosen, changed) {
    select.replaceChildren(...choices.map(([value, text]) => make("option", { value }, text)));
    select.value = String(chosen);
    select.addEventListener("change", () => changed(select.value));
    return select;
  }

  drawMaps() {
    const matrices = { pearson: this.alphas.length - 1, spearman: 0, kdi: this.matrix };
    for (const [name, map] of Object.entries(this.maps)) map.draw((i, j) => this.at(matrices[name], i, j));
    this.maps.kdi.name.textContent = `KD-integral, alpha = ${formatAlpha(this.alphas[this.matrix])}`;
  }

  // Return the pairs whose coefficients disagree most, in descending order.
  largestDisagreements() {
    const found = [];
    for (let i = 0; i < this.n; i++) {
      for (let j = i + 1; j < this.n; j++) {
        const r = this.coefficients(i, j);
        if (r.kdi !== null && r[this.against] !== null) found.push([Math.abs(r.kdi - r[this.against]), i, j]);
      }
    }
    return found.sort((one, other) => other[0] - one[0]).slice(0, PAIRS_LISTED).map(([, i, j]) => [i, j]);
  }

  writeTable() {
    const rows = this.largestDisagreements().map(([i, j]) => {
      const button = make("button", { type: "button" }, `${shorten(this.names[i], 30)} and ${shorten(this.names[j], 30)}`);
      button.addEventListener("click", () => this.choose(i, j));
      const { pearson, spearman, kdi } = this.coefficients(i, j);
      const row = make("tr", {}, make("th", { scope: "row" }, button));
      row.append(...[pearson, spearman, kdi].map((r) => make("td", {}, formatCorrelation(r))));
      return row;
    });
    const empty = make("tr", {}, make("td", { colspan: 4 }, "No pair has a correlation."));
    this.table.tBodies[0].replaceChildren(...(rows.length ? rows : [empty]));
  }

  describe(i, j) {
    const { pearson, spearman, kdi } = this.coefficients(i, j);
    return `Pearson ${formatCorrelation(pearson)}, Spearman ${formatCorrelation(spearman)}, KD-integral ${formatCorrelation(kdi)}`;
  }

  // Mark a cell in all heat maps.
  pointAt(cell, byKeyboard = false) {
    this.cursor = cell;
    for (const map of Object.values(this.maps)) map.mark(cell);
    const text = cell ? `${this.names[cell[0]]} and ${this.names[cell[1]]}: ${this.describe(...cell)}` : "";
    this.pointed.textContent = text;
    if (byKeyboard) announce(text);
  }

  // Show a pair: column j on the horizontal axis and i on the vertical one, as in the heat maps.
  choose(i, j, scroll = true) {
    this.chosen = [i, j];
    [this.first.value, this.second.value] = [String(i), String(j)];
    const heading = make("h3", {}, `${this.names[i]} and ${this.names[j]}`);
    const text = i === j ? "The same column twice." : `${this.describe(i, j)}.`;
    const numbers = make("p", {}, text);
    const picture = make("div", { class: "figure" });
    if (i === j) picture.append(make("p", { class: "empty" }, "Choose two different columns."));
    else if (this.scatter.has(i, j)) {
      picture.append(this.scatter.draw(j, i, this.names));
      const most = this.scatter.largestCount(i, j);
      const rows = Number.isInteger(most) ? `${formatExactly(most)} ${most === 1 ? "row" : "rows"}` : `a weight of ${formatNumber(most)}`;
      picture.append(make("p", { class: "note" }, `Axes are linear in T at alpha = 1. Up to ${rows} per bin; shades are logarithmic.`));
    } else picture.append(make("p", { class: "empty" }, "The page holds scatters only of the pairs that disagree most; this pair is not one of them."));
    this.panel.replaceChildren(heading, numbers, picture);
    if (!scroll) return;
    announce(`${this.names[i]} and ${this.names[j]}: ${text}`);
    this.panel.scrollIntoView({ block: "nearest" });
  }
}
