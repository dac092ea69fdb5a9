// Summaries of a column from its cells: histograms before and after, quantiles, the range without far outliers.
//
// The values of a cell are taken to lie evenly about their mean, as wide as their deviation says: three moments that the
// sketch has. Where the values themselves are kept, all of this is exact.

const BINS_BEFORE = 60;
const BINS_AFTER = 40;
const MOST_BARS = 80; // values at even distances that have a bar each
const MOST_STEPS = 1e5; // from the first of them to the last
const TAIL = 0.005; // of the values that may be left out of the picture at either end (kdi/marginals.py)
const FAR = 2; // where they reach further than this many times the width of the rest

// Where the values of a cell begin and end, as offsets from the minimum.
function cellEnds(cells, i) {
  const [middle, deviation] = cells.middle(i);
  const reach = Math.sqrt(3) * deviation;
  return [Math.max(middle - reach, 0), Math.min(middle + reach, cells.range)];
}

// The offsets up to which these shares of the weight lie, ascending shares; evenly within cells.
function quantilesOf(cells, shares) {
  const found = [];
  let below = 0;
  let i = 0;
  let total = 0;
  for (let k = 0; k < cells.length; k++) total += cells.mass(k);
  for (const share of shares) {
    while (i < cells.length - 1 && below + cells.mass(i) < share * total * (1 - 1e-12)) below += cells.mass(i++);
    const [low, high] = cellEnds(cells, i);
    const part = cells.mass(i) > 0 ? (share * total - below) / cells.mass(i) : 0;
    found.push(low + Math.min(Math.max(part, 0), 1) * (high - low));
  }
  return found;
}

// The range without far outliers, which would leave no room for the rest: [from, to] as offsets.
function bulkOf(cells) {
  const tail = Math.max(TAIL, Math.min(1 / 20, 1.5 / cells.count));
  const [first, last] = quantilesOf(cells, [tail * (1 + 1e-9), 1 - tail * (1 + 1e-9)]);
  const width = last - first;
  if (!(width > 0)) return [0, cells.range];
  const low = first > FAR * width ? first - 0.05 * width : 0;
  const high = cells.range - last > FAR * width ? last + 0.05 * width : cells.range;
  return [low, high];
}

// Add a mass that lies evenly from one place to another to bins of equal width.
function spread(bins, low, width, from, to, mass) {
  const last = bins.length - 1;
  const start = Math.min(Math.max(Math.floor((from - low) / width), 0), last);
  const end = Math.min(Math.max(Math.floor((to - low) / width), 0), last);
  if (start === end || !(to > from)) {
    bins[start] += mass;
    return;
  }
  for (let k = start; k <= end; k++) {
    const overlap = Math.min(to, k === last ? to : low + (k + 1) * width) - Math.max(from, k === 0 ? from : low + k * width);
    if (overlap > 0) bins[k] += (mass * overlap) / (to - from);
  }
}

// The distance of values that stand at even ones, such as ages in years; 0 where they do not.
function gridStep(cells) {
  if (cells.grid !== undefined) return cells.grid;
  const { positions, terms, range } = cells;
  let step = Infinity;
  for (let i = 1; i < positions.length; i++) step = Math.min(step, positions[i] - positions[i - 1]);
  const off = (place) => Math.abs(place / step - Math.round(place / step));
  const even = terms === 1 && range / step <= MOST_STEPS && positions.every((place) => off(place) < 1e-6);
  cells.grid = even && positions.length > 1 ? step : 0;
  return cells.grid;
}

// Bars before the transformation: { edges, shares, below, above }, the last two what lies outside of low to high.
//
// Of values at even distances, each bar holds as many of them as any other, or else some would have one more than others.
function histogramBefore(cells, low, high) {
  const step = gridStep(cells);
  let below = 0;
  let above = 0;
  let [count, width] = [BINS_BEFORE, (high - low) / BINS_BEFORE];
  if (step) {
    const first = Math.ceil(low / step - 1e-6);
    const steps = Math.floor(high / step + 1e-6) - first + 1;
    const each = steps <= MOST_BARS ? 1 : Math.ceil(steps / BINS_BEFORE);
    [count, width] = [Math.ceil(steps / each), each * step];
    low = (first - 0.5) * step;
    high = low + count * width;
  }
  const shares = new Float64Array(count);
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellEnds(cells, i);
    const middle = 0.5 * (from + to);
    if (middle < low) below += cells.mass(i);
    else if (middle > high) above += cells.mass(i);
    else spread(shares, low, width, from, to, cells.mass(i));
  }
  const gap = step && count <= MOST_BARS && width === step ? 0.05 * step : 0; // bars of single values stand apart
  const edges = Array.from(shares, (_, k) => [low + k * width + gap, low + (k + 1) * width - gap]);
  return { edges, shares, below, above, low, high };
}

// Bars after the transformation: shares of the weight in even bins of T.
function histogramAfter(cells, curve) {
  const shares = new Float64Array(BINS_AFTER);
  const add = (from, to, mass) => spread(shares, 0, 1 / BINS_AFTER, from, to, mass);
  if (cells.ranks && curve.knots === cells.ranks.knots) {
    const { places, masses } = rankPoints(cells.ranks);
    places.forEach((place, i) => add(place, place, masses[i]));
    return shares;
  }
  // Values at even distances, if they are many, stand for what lies about them, so that no bin has one more than others.
  const step = gridStep(cells);
  const half = step && cells.range / step > BINS_AFTER ? 0.5 * step : 0;
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellEnds(cells, i);
    add(curve.level(Math.max(from - half, 0)), curve.level(Math.min(to + half, cells.range)), cells.mass(i));
  }
  return shares;
}
