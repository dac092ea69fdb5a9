// Summaries of a column from its cells: histograms before and after, quantiles, the range without far outliers.
//
// The values of a cell are taken to lie evenly about their mean, as wide as their deviation says: three moments that the
// sketch has. Where the values themselves are kept, all of this is exact.

const BINS_BEFORE = 60;
const BINS_AFTER = 40;
const MOST_BARS = 80; // distinct values that have a bar each
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

// Values that stand at even distances and are few, such as ages in years, have a bar each.
function gridStep(cells, low, high) {
  if (cells.terms > 1) return 0;
  const places = cells.positions.filter((place) => place >= low && place <= high);
  if (places.length < 2 || places.length > MOST_BARS) return 0;
  let step = Infinity;
  for (let i = 1; i < places.length; i++) step = Math.min(step, places[i] - places[i - 1]);
  if (!((high - low) / step <= 2 * MOST_BARS)) return 0;
  const even = places.every((place) => Math.abs((place - places[0]) / step - Math.round((place - places[0]) / step)) < 1e-6);
  return even ? step : 0;
}

// Bars before the transformation, from low to high: { edges, shares, below, above }, the last two what lies outside.
function histogramBefore(cells, low, high) {
  const step = gridStep(cells, low, high);
  let below = 0;
  let above = 0;
  if (step) {
    const [edges, shares] = [[], []];
    for (let i = 0; i < cells.length; i++) {
      const place = cells.positions[i];
      if (place < low) below += cells.mass(i);
      else if (place > high) above += cells.mass(i);
      else {
        edges.push([place - 0.45 * step, place + 0.45 * step]);
        shares.push(cells.mass(i));
      }
    }
    return { edges, shares, below, above, step };
  }
  const width = (high - low) / BINS_BEFORE;
  const shares = new Float64Array(BINS_BEFORE);
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellEnds(cells, i);
    const middle = 0.5 * (from + to);
    if (middle < low) below += cells.mass(i);
    else if (middle > high) above += cells.mass(i);
    else spread(shares, low, width, from, to, cells.mass(i));
  }
  return { edges: Array.from(shares, (_, k) => [low + k * width, low + (k + 1) * width]), shares, below, above, step: 0 };
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
  for (let i = 0; i < cells.length; i++) {
    const [from, to] = cellEnds(cells, i);
    add(curve.level(from), curve.level(to), cells.mass(i));
  }
  return shares;
}
