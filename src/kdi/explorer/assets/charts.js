// What all charts are made of: elements, numbers as text, ticks and paths. Names are data: they become text, never markup.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; a child that is a string is text.
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

const signed = (text) => text.replace(/^-/, "−"); // that of an exponent stays

function withExponent(x, digits) {
  return signed(x.toExponential(digits).replace(/\.?0+e/, "e").replace("e+", "e"));
}

// A number in few digits, but with all of its whole ones where these are not too many.
function sayNumber(x, digits = 4) {
  if (x === null || Number.isNaN(x)) return "none";
  const size = Math.abs(x);
  const whole = Math.floor(Math.log10(size)) + 1;
  if (size !== 0 && (size < 1e-4 || whole > Math.max(digits, 9))) return withExponent(x, digits - 1);
  const most = Math.min(Math.max(digits, size ? whole : 1), 17);
  return signed(new Intl.NumberFormat("en", { maximumSignificantDigits: most }).format(x));
}

// A number in a few characters, where there is room for no more.
function sayBriefly(x) {
  const text = sayNumber(x, 3);
  return text.length > 7 ? withExponent(x, 2) : text;
}

// A number with every digit that it has.
function sayExactly(x) {
  return Number.isInteger(x) && Math.abs(x) < 1e15 ? grouped.format(x) : String(x);
}

function sayShare(share) {
  if (share > 0 && share < 0.0005) return "< 0.1%";
  const percent = 100 * share;
  return `${percent >= 10 ? Math.round(percent) : Number(percent.toFixed(1))}%`;
}

function sayAlpha(alpha) {
  return alpha === Infinity ? "∞" : String(Number(alpha.toPrecision(3)));
}

// What an alpha is called beside its number.
function nameAlpha(alpha) {
  if (alpha === 0) return "0, the quantile transform";
  return alpha === Infinity ? "∞, min-max scaling" : sayAlpha(alpha);
}

// Round numbers from low to high, some `count` of them, with their texts.
function ticksBetween(low, high, count) {
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
    if (plain) return { place, text: signed(form.format(x)) };
    return { place, text: x === 0 ? "0" : withExponent(x, digits) };
  });
}

// Ticks whose texts, centred, do not touch: every second one is left out until they fit.
function ticksThatFit(low, high, width) {
  for (let count = 6; count > 1; count--) {
    const ticks = ticksBetween(low, high, count);
    const room = width / Math.max((high - low) / ((ticks[1]?.place ?? high) - (ticks[0]?.place ?? low)), 1);
    if (ticks.every((tick) => tick.text.length * 6.6 + 8 < room)) return ticks;
  }
  return ticksBetween(low, high, 1).slice(0, 1);
}

const pixel = (x) => x.toFixed(2);

function linePath(xs, ys) {
  let path = "";
  for (let i = 0; i < xs.length; i++) path += `${i ? "L" : "M"}${pixel(xs[i])} ${pixel(ys[i])}`;
  return path;
}

// Bars from a base line; `edges` and `heights` in pixels, heights away from the base.
function barPath(edges, heights, base, upright) {
  let path = "";
  for (let i = 0; i < heights.length; i++) {
    if (!(heights[i] > 0)) continue;
    const [from, to, top] = [pixel(edges[i][0]), pixel(edges[i][1]), pixel(base + (upright ? -heights[i] : heights[i]))];
    path += upright ? `M${from} ${pixel(base)}V${top}H${to}V${pixel(base)}Z` : `M${pixel(base)} ${from}H${top}V${to}H${pixel(base)}Z`;
  }
  return path;
}

// A text that was cut to some letters, with all of it as its title.
function shortened(text, letters) {
  const shown = text.replace(/\s+/g, " ").trim() || "(no name)";
  const characters = [...shown];
  if (characters.length <= letters) return shown;
  const head = Math.ceil((letters - 1) / 2);
  return `${characters.slice(0, head).join("")}…${characters.slice(characters.length - (letters - 1 - head)).join("")}`;
}

// A line that screen readers say, once nothing changes any more.
let announcing = 0;
function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    document.getElementById("said").textContent = text;
  }, 250);
}
