// Heat maps of correlations. They share a cursor: pointing at a cell in one of them marks it in all.

const COLOURS = [ // from -1 to 1: blue over white to red, suited to red-green colour blindness
  [5, 48, 97], [67, 147, 195], [209, 229, 240], [247, 247, 247], [253, 219, 199], [214, 96, 77], [103, 0, 31],
];
const NO_CORRELATION = [150, 150, 150];
const MAX_WRITTEN = 12; // columns up to which correlations are written into the cells
const MAX_LABELLED = 40; // columns up to which names are written beside the map
const LABEL_LETTERS = 11;

function correlationColour(r) {
  if (r === null) return NO_CORRELATION;
  const at = ((Math.min(Math.max(r, -1), 1) + 1) / 2) * (COLOURS.length - 1);
  const k = Math.min(Math.floor(at), COLOURS.length - 2);
  return COLOURS[k].map((from, c) => Math.round(from + (at - k) * (COLOURS[k + 1][c] - from)));
}

// Whether dark text is easier to read on a colour than white text.
function isBright(colour) {
  const [red, green, blue] = colour.map((part) => (part / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2;
}

// The legend of the colours.
function colourLegend() {
  const svg = makeSvg("svg", { viewBox: "0 0 240 34", class: "legend", role: "img", "aria-label": "Colours: blue is −1, white is 0, red is 1." });
  const image = pixelImage(201, 1, (_, k) => correlationColour(k / 100 - 1));
  svg.append(makeSvg("image", { x: 10, y: 2, width: 220, height: 12, preserveAspectRatio: "none", href: image }));
  for (const r of [-1, -0.5, 0, 0.5, 1]) {
    svg.append(makeSvg("text", { x: 120 + 110 * r, y: 28, "text-anchor": "middle", "font-size": 11 }, withMinusSign(String(r))));
  }
  return svg;
}

function formatCorrelation(r) {
  return r === null ? "none" : r.toFixed(2).replace(/^-(?!0\.00$)/, "−").replace("-", "");
}

// An image with one pixel per cell, which is scaled when it is drawn.
function pixelImage(width, height, colourAt) {
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const [red, green, blue, opacity = 255] = colourAt(Math.floor(i / width), i % width);
    image.data.set([red, green, blue, opacity], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

class HeatMap {
  // `view` has the names, the `cursor` and the `chosen` cell; its `pointAt` and `choose` are called.
  constructor(view, title) {
    Object.assign(this, { view, title });
    const n = view.names.length;
    this.n = n;
    this.labelled = n <= MAX_LABELLED;
    this.margin = this.labelled ? 84 : 8;
    this.width = 380;
    this.cell = (this.width - this.margin - (this.labelled ? 44 : 4)) / n; // the last name is slanted to the right
    const height = this.margin + this.cell * n + 8;
    this.svg = makeSvg("svg", {
      viewBox: `0 0 ${this.width} ${height}`,
      class: "heat-map",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": `${title} correlations of ${n} columns. Arrow keys move the cursor, Enter shows the pair.`,
    });
    this.image = this.svg.appendChild(
      makeSvg("image", { x: this.margin, y: this.margin, width: this.cell * n, height: this.cell * n, preserveAspectRatio: "none" }),
    );
    this.values = this.svg.appendChild(makeSvg("g", { class: "written" }));
    this.cursor = this.svg.appendChild(makeSvg("rect", { class: "cursor", width: this.cell, height: this.cell, visibility: "hidden" }));
    if (this.labelled) this.addNames();
    this.name = make("b", {}, title);
    this.element = make("figure", {}, make("figcaption", {}, this.name, " computed in Python"), this.svg);
    this.listen();
  }

  addNames() {
    const size = Math.min(11, Math.max(this.cell * 0.9, 7));
    this.view.names.forEach((name, k) => {
      const at = this.margin + (k + 0.5) * this.cell;
      const text = shorten(name, LABEL_LETTERS);
      const row = makeSvg("text", { x: this.margin - 5, y: at, dy: "0.32em", "text-anchor": "end", "font-size": size }, text);
      const column = makeSvg("text", { transform: `translate(${toPixels(at)} ${this.margin - 5}) rotate(-45)`, "font-size": size }, text);
      for (const one of [row, column]) {
        one.append(makeSvg("title", {}, name));
        this.svg.append(one);
      }
    });
  }

  listen() {
    const cellAt = (event) => {
      const box = this.svg.getBoundingClientRect();
      const scale = this.width / box.width;
      const column = Math.floor(((event.clientX - box.left) * scale - this.margin) / this.cell);
      const row = Math.floor(((event.clientY - box.top) * scale - this.margin) / this.cell);
      return row >= 0 && row < this.n && column >= 0 && column < this.n ? [row, column] : null;
    };
    this.svg.addEventListener("pointermove", (event) => this.view.pointAt(cellAt(event)));
    this.svg.addEventListener("pointerleave", () => this.view.pointAt(null));
    this.svg.addEventListener("click", (event) => {
      const cell = cellAt(event);
      if (cell && cell[0] !== cell[1]) this.view.choose(...cell);
    });
    this.svg.addEventListener("keydown", (event) => {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const [row, column] = this.view.cursor ?? this.view.chosen;
      if (moves[event.key]) {
        const inside = (place) => Math.min(Math.max(place, 0), this.n - 1);
        this.view.pointAt([inside(row + moves[event.key][0]), inside(column + moves[event.key][1])], true);
      } else if ((event.key === "Enter" || event.key === " ") && row !== column) this.view.choose(row, column);
      else return;
      event.preventDefault();
    });
    this.svg.addEventListener("blur", () => this.view.pointAt(null));
  }

  // Draw a matrix: `at(i, j)` is a correlation or null.
  draw(at) {
    this.image.setAttribute("href", pixelImage(this.n, this.n, (i, j) => correlationColour(at(i, j))));
    this.values.replaceChildren();
    if (this.n > MAX_WRITTEN) return;
    for (let i = 0; i < this.n; i++) {
      for (let j = 0; j < this.n; j++) {
        const r = at(i, j);
        const [x, y] = [i, j].map((k) => toPixels(this.margin + (k + 0.5) * this.cell));
        const ink = isBright(correlationColour(r)) ? "dark" : "light";
        const text = i === j ? "1" : formatCorrelation(r).replace("0.", "."); // cells are narrow
        const size = toPixels(Math.min(11, this.cell * 0.36));
        this.values.append(makeSvg("text", { x: y, y: x, dy: "0.34em", "text-anchor": "middle", class: ink, "font-size": size }, text));
      }
    }
  }

  mark(cell) {
    this.cursor.setAttribute("visibility", cell ? "visible" : "hidden");
    if (!cell) return;
    this.cursor.setAttribute("x", toPixels(this.margin + cell[1] * this.cell));
    this.cursor.setAttribute("y", toPixels(this.margin + cell[0] * this.cell));
  }
}
