// The density scatter of a pair of columns: how many rows of a sample lie in each bin, the darker the more.
//
// Bins are even in T at alpha = 1. Drawn so, neither outliers nor crowds hide what the pair is like; drawn by value, one sees
// what Pearson's correlation sees.

const SCATTER = { size: 300, left: 62, bottom: 46, top: 8, right: 12 };
const TICKED = [0, 0.25, 0.5, 0.75, 1];

class ScatterChart {
  constructor(data) {
    this.data = data;
    this.places = new Map(data.pairs.map(([i, j], k) => [`${i} ${j}`, k]));
    this.shades = decodeBase64(data.counts);
  }

  has(i, j) {
    return this.places.has(`${Math.min(i, j)} ${Math.max(i, j)}`);
  }

  // Shade of a bin, from 0 to 255, with column i along x and column j along y.
  shadeOf(i, j) {
    const { bins } = this.data;
    const start = this.places.get(`${Math.min(i, j)} ${Math.max(i, j)}`) * bins * bins;
    return (x, y) => this.shades[start + (i < j ? y * bins + x : x * bins + y)];
  }

  most(i, j) {
    return this.data.most[this.places.get(`${Math.min(i, j)} ${Math.max(i, j)}`)];
  }

  draw(i, j, names, byValue) {
    const { bins, edges } = this.data;
    const { size, left, bottom, top, right } = SCATTER;
    const svg = makeSvg("svg", {
      viewBox: `0 0 ${left + size + right} ${top + size + bottom}`,
      role: "img",
      class: "scatter",
      "aria-label": `Density of rows by ${names[i]} (across) and ${names[j]} (up), ${byValue ? "by value" : "even in T at alpha 1"}.`,
    });
    const along = (column) => {
      const at = edges[column];
      const range = at[bins] - at[0];
      return (k) => (byValue ? (range > 0 && Number.isFinite(range) ? (at[k] - at[0]) / range : k / bins) : k / bins);
    };
    const [across, up] = [along(i), along(j)];
    svg.append(makeSvg("rect", { class: "frame", x: left, y: top, width: size, height: size }));
    const shade = this.shadeOf(i, j);
    const paths = new Map(); // a path a shade is many fewer elements than one a bin
    for (let y = 0; y < bins; y++) {
      for (let x = 0; x < bins; x++) {
        const dark = Math.ceil(shade(x, y) / 16);
        if (!dark) continue;
        const [from, to] = [left + size * across(x), left + size * across(x + 1)];
        const [low, high] = [top + size * (1 - up(y)), top + size * (1 - up(y + 1))];
        const wide = Math.max(to - from, 0.6); // what is there is seen, however narrow its bin
        const tall = Math.max(low - high, 0.6);
        paths.set(dark, `${paths.get(dark) ?? ""}M${pixel(from)} ${pixel(low)}h${pixel(wide)}v${pixel(-tall)}h${pixel(-wide)}Z`);
      }
    }
    for (const [dark, d] of paths) svg.append(makeSvg("path", { class: "density", d, "fill-opacity": pixel(0.12 + (0.88 * dark) / 16) }));
    this.addAxes(svg, i, j, names, byValue);
    return svg;
  }

  addAxes(svg, i, j, names, byValue) {
    const { bins, edges } = this.data;
    const { size, left, bottom, top } = SCATTER;
    for (const [column, upright] of [[i, false], [j, true]]) {
      const at = edges[column];
      const places = byValue && at[bins] - at[0] < Infinity
        ? ticksThatFit(at[0], at[bins], upright ? 4 * size : size).map(({ place, text }) => [(place - at[0]) / (at[bins] - at[0]), text])
        : TICKED.map((share) => [share, sayNumber(at[Math.round(share * bins)], 3)]);
      for (const [share, text] of places) {
        const where = upright
          ? { x: left - 5, y: pixel(top + size * (1 - share)), dy: "0.32em", "text-anchor": "end" }
          : { x: pixel(left + size * share), y: top + size + 14, "text-anchor": share > 0.97 ? "end" : "middle" };
        svg.append(makeSvg("text", { class: "tick", ...where }, text));
      }
    }
    const middle = top + size / 2;
    const shownNames = [i, j].map((column) => shortened(names[column], 34));
    svg.append(
      makeSvg("text", { class: "label", x: left + size / 2, y: top + size + bottom - 12, "text-anchor": "middle" }, shownNames[0]),
      makeSvg("text", { class: "label", transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }, shownNames[1]),
    );
  }
}
