// The density scatter of a pair of columns: the number of sampled rows per bin; darker bins have more rows.
//
// Bins and axes are linear in T at alpha = 1: neither outliers nor dense regions hide the relation of the columns.

const SCATTER = { size: 300, left: 62, bottom: 46, top: 8, right: 12 };
const TICK_SHARES = [0, 0.25, 0.5, 0.75, 1];

class ScatterChart {
  constructor(data) {
    this.data = data;
    this.places = new Map(data.pairs.map(([i, j], k) => [`${i} ${j}`, k]));
    this.shades = decodeBase64(data.shades);
  }

  has(i, j) {
    return this.places.has(`${Math.min(i, j)} ${Math.max(i, j)}`);
  }

  // Return a function that gives the shade of a bin, from 0 to 255, with column i along x and column j along y.
  shadeOf(i, j) {
    const { bins } = this.data;
    const start = this.places.get(`${Math.min(i, j)} ${Math.max(i, j)}`) * bins * bins;
    return (x, y) => this.shades[start + (i < j ? y * bins + x : x * bins + y)];
  }

  largestCount(i, j) {
    return this.data.largest_counts[this.places.get(`${Math.min(i, j)} ${Math.max(i, j)}`)];
  }

  draw(i, j, names) {
    const { bins } = this.data;
    const { size, left, bottom, top, right } = SCATTER;
    const svg = makeSvg("svg", {
      viewBox: `0 0 ${left + size + right} ${top + size + bottom}`,
      role: "img",
      class: "scatter",
      "aria-label": `Density of rows by ${names[i]} (horizontal) and ${names[j]} (vertical), linear in T at alpha = 1.`,
    });
    const shade = this.shadeOf(i, j);
    const step = size / bins;
    const paths = new Map(); // one path per shade needs far fewer elements than one per bin
    for (let y = 0; y < bins; y++) {
      for (let x = 0; x < bins; x++) {
        const dark = Math.ceil(shade(x, y) / 16);
        if (!dark) continue;
        const bin = `M${toPixels(left + step * x)} ${toPixels(top + size - step * y)}h${step}v${-step}h${-step}Z`;
        paths.set(dark, `${paths.get(dark) ?? ""}${bin}`);
      }
    }
    for (const [dark, d] of paths) svg.append(makeSvg("path", { class: "density", d, "fill-opacity": toPixels(0.12 + (0.88 * dark) / 16) }));
    svg.append(makeSvg("rect", { class: "frame", x: left, y: top, width: size, height: size }));
    this.addAxes(svg, i, j, names);
    return svg;
  }

  addAxes(svg, i, j, names) {
    const { bins, edges } = this.data;
    const { size, left, bottom, top } = SCATTER;
    for (const share of TICK_SHARES) {
      const [across, up] = [i, j].map((column) => formatBriefly(edges[column][Math.round(share * bins)]));
      const anchor = { 0: "start", 1: "end" }[share] ?? "middle";
      svg.append(
        makeSvg("text", { class: "tick", x: left + size * share, y: top + size + 14, "text-anchor": anchor }, across),
        makeSvg("text", { class: "tick", x: left - 5, y: top + size * (1 - share), dy: "0.32em", "text-anchor": "end" }, up),
      );
    }
    const middle = top + size / 2;
    const [below, beside] = [i, j].map((column) => shorten(names[column], 34));
    svg.append(
      makeSvg("text", { class: "label", x: left + size / 2, y: top + size + bottom - 12, "text-anchor": "middle" }, below),
      makeSvg("text", { class: "label", transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }, beside),
    );
  }
}
