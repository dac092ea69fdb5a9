// Building blocks of all charts: elements, formatted numbers, ticks and paths. Names are data: they become text, never markup.

const SVG = "http://www.w3.org/2000/svg";

// Create an element with attributes and children; a string becomes a text node.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const withMinusSign = (text) => text.replace(/^-/, "−"); // of the number, not of its exponent

function withExponent(x, digits) {
  return withMinusSign(x.toExponential(digits).replace(/\.?0+e/, "e").replace("e+", "e"));
}

// Format a number with few digits, but with all digits before the decimal point unless they are too many.
function formatNumber(x, digits = 4) {
  if (x === null || Number.isNaN(x)) return "none";
  const size = Math.abs(x);
  const whole = Math.floor(Math.log10(size)) + 1;
  if (size !== 0 && (size < 1e-4 || whole > Math.max(digits, 9))) return withExponent(x, digits - 1);
  const most = Math.min(Math.max(digits, size ? whole : 1), 17);
  return withMinusSign(new Intl.NumberFormat("en", { maximumSignificantDigits: most }).format(x));
}

// Format a number in at most some seven characters, for narrow places.
function formatBriefly(x) {
  const text = formatNumber(x, 3);
  return text.length > 7 ? withExponent(x, 2) : text;
}

// Format a number with all of its digits.
function formatExactly(x) {
  return Number.isInteger(x) && Math.abs(x) < 1e15 ? grouped.format(x) : String(x);
}

function formatShare(share) {
  if (share > 0 && share < 0.0005) return "< 0.1%";
  const percent = 100 * share;
  return `${percent >= 10 ? Math.round(percent) : Number(percent.toFixed(1))}%`;
}

function formatAlpha(alpha) {
  return alpha === Infinity ? "∞" : String(Number(alpha.toPrecision(3)));
}

// Format an alpha, with the name of the transformation at 0 and infinity.
function describeAlpha(alpha) {
  if (alpha === 0) return "0, the quantile transform";
  return alpha === Infinity ? "∞, min-max scaling" : formatAlpha(alpha);
}

// Return about `count` round numbers from low to high, with their texts.
function makeTicks(low, high, count) {
  const raw = (high - low) / count;
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999) ?? raw;
  const places = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && places.length < 50; k++) places.push(k * step);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const half = Math.abs(step / power - 2.5) < 0.01 ? 1 : 0; // 2.5 has one digit more than 2
  const decimals = Math.max(0, half - Math.floor(Math.log10(step) + 1e-9));
  const plain = largest < 1e7 && decimals <= 5;
  const digits = Math.min(Math.max(half + Math.ceil(Math.log10(largest / step)), 0), 16);
  const fraction = plain ? decimals : 0;
  const form = new Intl.NumberFormat("en", { minimumFractionDigits: fraction, maximumFractionDigits: fraction });
  return places.map((place) => {
    const x = Math.abs(place) < 1e-9 * step ? 0 : place;
    if (plain) return { place, text: withMinusSign(form.format(x)) };
    return { place, text: x === 0 ? "0" : withExponent(x, digits) };
  });
}

// Return as many ticks as fit side by side with centred texts.
function makeTicksThatFit(low, high, width) {
  for (let count = 6; count > 1; count--) {
    const ticks = makeTicks(low, high, count);
    const room = width / Math.max((high - low) / ((ticks[1]?.place ?? high) - (ticks[0]?.place ?? low)), 1);
    if (ticks.every((tick) => tick.text.length * 6.6 + 8 < room)) return ticks;
  }
  return makeTicks(low, high, 1).slice(0, 1);
}

const toPixels = (x) => x.toFixed(2);

function linePath(xs, ys) {
  let path = "";
  for (let i = 0; i < xs.length; i++) path += `${i ? "L" : "M"}${toPixels(xs[i])} ${toPixels(ys[i])}`;
  return path;
}

// Return the path of bars that start at a base line; `edges` and `heights` are in pixels.
function barPath(edges, heights, base, upright) {
  let path = "";
  for (let i = 0; i < heights.length; i++) {
    if (!(heights[i] > 0)) continue;
    const [from, to, top] = [toPixels(edges[i][0]), toPixels(edges[i][1]), toPixels(base + (upright ? -heights[i] : heights[i]))];
    path += upright ? `M${from} ${toPixels(base)}V${top}H${to}V${toPixels(base)}Z` : `M${toPixels(base)} ${from}H${top}V${to}H${toPixels(base)}Z`;
  }
  return path;
}

// Cut a text to at most `letters` letters, with an ellipsis in its middle.
function shorten(text, letters) {
  const shown = text.replace(/\s+/g, " ").trim() || "(no name)";
  const characters = [...shown];
  if (characters.length <= letters) return shown;
  const head = Math.ceil((letters - 1) / 2);
  return `${characters.slice(0, head).join("")}…${characters.slice(characters.length - (letters - 1 - head)).join("")}`;
}

// Let screen readers announce a text once changes have stopped for a moment.
let announceTimer = 0;
function announce(text) {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => {
    document.getElementById("announcement").textContent = text;
  }, 250);
}
