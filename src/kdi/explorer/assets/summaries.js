// Summaries of a column from its cells: histograms of x and T(x), quantiles, the range without far outliers.
//
// The values of a cell are assumed to be uniform about their mean, with their standard deviation: the sketch has the three
// moments that this takes. If the values themselves are embedded, all summaries are exact.

const BINS_BEFORE = 60;
const BINS_AFTER = 40;
const MAX_BARS = 80; // equidistant values up to which each has a bar of its own
const MAX_GRID_STEPS = 1e5; // from the first of them to the last
const TAIL_SHARE = 0.005; // of the values that the chart may leave out at either end (kdi/_plots/marginals.py)
const OUTLIER_FACTOR = 2; // they are left out if they reach further than this many times the width of the rest

// Return the interval of the values of a cell, as offsets from the minimum.
function cellInterval(cells, i) {
  const [middle, deviation] = cells.centre(i);
  const reach = Math.sqrt(3) * deviation;
  return [Math.max(middle - reach, 0), Math.min(middle + reach, cells.range)];
}

// Return quantiles, as offsets from the minimum, for ascending shares of the weight.
function findQuantiles(cells, shares) {
  const found = [];
  let below = 0;
  let i = 0;
  let total = 0;
  for (let k = 0; k < cells.length; k++) total += cells.mass(k);
  for (const share of shares) {
    while (i < cells.length - 1 && below + cells.mass(i) < share * total * (1 - 1e-12)) below += cells.mass(i++);
    const [low, high] = cellInterval(cells, i);
    const part = cells.mass(i) > 0 ? (share * total - below) / cells.mass(i) : 0;
    found.push(low + Math.min(Math.max(part, 0), 1) * (high - low));
  }
  return found;
}

// Return the range without far outliers, which would squeeze the rest together, as offsets [from, to].
function rangeWithoutOutliers(cells) {
  const tail = Math.max(TAIL_SHARE, Math.min(1 / 20, 1.5 / cells.count));
  const [first, last] = findQuantiles(cells, [tail * (1 + 1e-9), 1 - tail * (1 + 1e-9)]);
  const width = last - first;
  if (!(width > 0)) return [0, cells.range];
  const low = first > OUTLIER_FACTOR * width ? first - 0.05 * width : 0;
  const high = cells.range - last > OUTLIER_FACTOR * width ? last + 0.05 * width : cells.range;
  return [low, high];
}

// Distribute a mass that is uniform from one place to another among bins of equal width.
function addEvenly(bins, low, width, from, to, mass) {
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

// Return the distance of equidistant values, such as ages in years; 0 for other values.
function gridStep(cells) {
  if (cells.grid !== undefined) return cells.grid;
  const { positions, terms, range } = cells;
  let step = Infinity;
  for (let i = 1; i < positions.length; i++) step = Math.min(step, positions[i] - positions[i - 1]);
  const off = (place) => Math.abs(place / step - Math.round(place / step));
  const even = terms === 1 && range / step <= MAX_GRID_STEPS && positions.every((place) => off(place) < 1e-6);
  cells.grid = even && positions.length > 1 ? step : 0;
  return cells.grid;
}

// Return the histogram of x: { edges, shares, below, above }, the last two being the shares below `low` and above `high`.
//
// Every bar covers the same number of equidistant values; otherwise, some bars would have one value more than others.
function histogramBefore(cells, low, high) {
  const step = gridStep(cells);
  let below = 0;
  let above = 0;
  let [count, width] = [BINS_BEFORE, (high - low) / BINS_BEFORE];
  if (step) {
    const first = Math.ceil(low / step - 1e-6);
    const steps = Math.floor(high / step + 1e-6) - first + 1;
    const each = steps <= MAX_BARS ? 1 : Math.ceil(steps / BINS_BEFORE);
    [count, width] = [Math.ceil(steps / each), each * step];
    low = (first - 0.5) * step;
    high = low + count * width;
  }
  const shares = new Float64Array(count);
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellInterval(cells, i);
    const middle = 0.5 * (from + to);
    if (middle < low) below += cells.mass(i);
    else if (middle > high) above += cells.mass(i);
    else addEvenly(shares, low, width, from, to, cells.mass(i));
  }
  const gap = step && count <= MAX_BARS && width === step ? 0.05 * step : 0; // a gap between bars of single values
  const edges = Array.from(shares, (_, k) => [low + k * width + gap, low + (k + 1) * width - gap]);
  return { edges, shares, below, above, low, high };
}

// Return the histogram of T(x): shares of the weight in bins of equal width.
function histogramAfter(cells, curve) {
  const shares = new Float64Array(BINS_AFTER);
  const add = (from, to, mass) => addEvenly(shares, 0, 1 / BINS_AFTER, from, to, mass);
  if (cells.ranks && curve.knots === cells.ranks.knots) {
    const { places, masses } = rankPoints(cells.ranks);
    places.forEach((place, i) => add(place, place, masses[i]));
    return shares;
  }
  // Many equidistant values are spread over their distance, so that no bin has one value more than others.
  const step = gridStep(cells);
  const half = step && cells.range / step > BINS_AFTER ? 0.5 * step : 0;
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellInterval(cells, i);
    add(curve.level(Math.max(from - half, 0)), curve.level(Math.min(to + half, cells.range)), cells.mass(i));
  }
  return shares;
}
