// Cluster boundaries: the valleys of a Gaussian density of T, as kdi.cluster finds them (kdi/_clustering/modes.py).
//
// Differences from Python: the T of a cell's values are replaced by two points, one standard deviation to each side of their
// mean. The density on the knots has an error of about 1e-8, so valleys shallower than 1e-7 are merged (1e-8 in Python; 1e-4
// at alpha = 0 if the page does not hold all values). The valleys are then located by Newton's method on the sum itself, as
// in Python.

const KNOTS_PER_BANDWIDTH = 32;
const NEGLIGIBLE = 1e-8; // times the highest density: less than a single value among ten million contributes
const MIN_DEPTH = 1e-7; // relative depth of a valley below which it may be rounding
const MIN_RANK_DEPTH = 1e-4; // the same if ranks are known only at some knots
const MAX_BANDWIDTHS = 39; // distance beyond which a Gaussian underflows
const CLUMP_GAP = 16; // bandwidths between clumps of points whose densities do not overlap
const KERNEL_REACH = 8; // bandwidths from a point to the last knot that it contributes to
const MARGIN = KERNEL_REACH * KNOTS_PER_BANDWIDTH;
const KERNEL = Float64Array.from({ length: 2 * MARGIN + 1 }, (_, k) => Math.exp(-0.5 * ((k - MARGIN) / KNOTS_PER_BANDWIDTH) ** 2));

// Return the T of a column's values as ascending places, with their shares of the weight.
function levelPoints(cells, curve) {
  if (cells.ranks && curve.knots === cells.ranks.knots) return rankPoints(cells.ranks);
  const split = cells.terms > 1;
  const places = new Float64Array(cells.length * (split ? 2 : 1));
  const masses = new Float64Array(places.length);
  for (let i = 0; i < cells.length; i++) {
    if (!split) {
      places[i] = curve.level(cells.positions[i]);
      masses[i] = cells.mass(i);
      continue;
    }
    const [middle, deviation] = cells.centre(i);
    const level = curve.level(middle);
    const spread = curve.slope(middle) * deviation;
    places[2 * i] = Math.max(level - spread, 0);
    places[2 * i + 1] = Math.min(level + spread, 1);
    masses[2 * i] = masses[2 * i + 1] = 0.5 * cells.mass(i);
  }
  return sortPoints(places, masses);
}

// The same at alpha = 0 from knots: ranks between two knots are uniform, and are replaced by two points.
function rankPoints({ levels, masses }) {
  const last = levels.length - 1;
  const total = 1 - 0.5 * (masses[0] + masses[last]); // weight between the mid-ranks of the first and the last knot
  const points = { places: [levels[0]], masses: [masses[0]] };
  for (let i = 1; i <= last; i++) {
    const rise = levels[i] - levels[i - 1];
    const between = total * rise - 0.5 * (masses[i - 1] + masses[i]);
    if (between > 0) {
      const [middle, spread] = [levels[i - 1] + 0.5 * rise, rise / Math.sqrt(12)];
      points.places.push(middle - spread, middle + spread);
      points.masses.push(0.5 * between, 0.5 * between);
    }
    points.places.push(levels[i]);
    points.masses.push(masses[i]);
  }
  return { places: Float64Array.from(points.places), masses: Float64Array.from(points.masses), minDepth: MIN_RANK_DEPTH };
}

// Sort points in place by insertion: only neighbouring cells overlap.
function sortPoints(places, masses) {
  for (let i = 1; i < places.length; i++) {
    const place = places[i];
    const mass = masses[i];
    let k = i;
    for (; k && places[k - 1] > place; k--) {
      places[k] = places[k - 1];
      masses[k] = masses[k - 1];
    }
    places[k] = place;
    masses[k] = mass;
  }
  return { places, masses };
}

function standardDeviation({ places, masses }) {
  let total = 0;
  let mean = 0;
  for (let i = 0; i < places.length; i++) {
    total += masses[i];
    mean += masses[i] * places[i];
  }
  mean /= total;
  let square = 0;
  for (let i = 0; i < places.length; i++) square += masses[i] * (places[i] - mean) ** 2;
  return Math.sqrt(square / total);
}

// Scott's rule with the sample standard deviation (ddof=1).
function scottBandwidth(points, weight) {
  return weight ** -0.2 * (weight > 1 ? Math.sqrt(weight / (weight - 1)) : 1) * standardDeviation(points);
}

// Split points where the gap between neighbours is wider than `gap`; a clump is the range [first, end).
function splitIntoClumps(places, gap) {
  const clumps = [];
  let first = 0;
  for (let i = 1; i <= places.length; i++) {
    if (i === places.length || places[i] - places[i - 1] > gap) {
      clumps.push({ first, end: i, low: places[first], high: places[i - 1] });
      first = i;
    }
  }
  return clumps;
}

// The density (up to a factor) on equidistant knots around a clump: each point is distributed among four knots by cubic
// interpolation, so that the kernel is needed at few distances.
function densityOnKnots({ places, masses }, clump, bandwidth) {
  const step = bandwidth / KNOTS_PER_BANDWIDTH;
  const start = clump.low - (MARGIN + 1) * step;
  const size = Math.ceil((clump.high - clump.low) / step) + 2 * MARGIN + 4;
  const shares = new Float64Array(size);
  for (let i = clump.first; i < clump.end; i++) {
    const at = (places[i] - start) / step;
    const k = Math.floor(at);
    const u = at - k;
    const mass = masses[i];
    shares[k - 1] -= (mass * u * (u - 1) * (u - 2)) / 6;
    shares[k] += (mass * (u + 1) * (u - 1) * (u - 2)) / 2;
    shares[k + 1] -= (mass * (u + 1) * u * (u - 2)) / 2;
    shares[k + 2] += (mass * (u + 1) * u * (u - 1)) / 6;
  }
  const heights = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    const share = shares[k];
    if (share === 0) continue;
    const from = Math.max(MARGIN - k, 0);
    const to = Math.min(KERNEL.length, size + MARGIN - k);
    for (let j = from, at = k - MARGIN + from; j < to; j++, at++) heights[at] += share * KERNEL[j];
  }
  const knots = Float64Array.from(shares, (_, k) => start + k * step);
  return { start, step, heights, points: { places: knots, masses: shares } };
}

// The peak of a clump at most two bandwidths wide: it has only one, since such a mixture of Gaussians is log-concave.
function narrowPeak({ places, masses }, clump, bandwidth) {
  let mass = 0;
  let moment = 0;
  for (let i = clump.first; i < clump.end; i++) {
    mass += masses[i];
    moment += masses[i] * places[i];
  }
  const place = moment / mass;
  let height = 0;
  for (let i = clump.first; i < clump.end; i++) height += masses[i] * Math.exp(-0.5 * ((places[i] - place) / bandwidth) ** 2);
  return { place, height };
}

// Find the peaks of a clump in order, each with a bracket [left, right].
function findPeaks(clump, least, bandwidth) {
  if (clump.peak) {
    const { place, height } = clump.peak;
    if (!(height > least)) return [];
    const reach = bandwidth * Math.sqrt(2 * Math.log(height / least));
    return [{ clump, left: place - reach, right: place + reach, place, height }];
  }
  const { start, step, heights } = clump.knots;
  const peaks = [];
  let rising = null;
  for (let k = 1; k < heights.length; k++) {
    if (!(heights[k] > least && heights[k - 1] > least)) continue;
    const up = heights[k] > heights[k - 1];
    if (up) {
      if (rising !== true) peaks.push({ clump, left: start + (k - 1) * step, right: 0, place: 0, height: 0 });
      rising = true;
    } else if (heights[k] < heights[k - 1]) {
      if (!peaks.length) peaks.push({ clump, left: start + (k - 1) * step, right: 0, place: 0, height: 0 });
      rising = false;
    }
    const last = peaks[peaks.length - 1];
    if (!last) continue;
    for (const j of [k - 1, k]) {
      if (heights[j] > last.height) {
        last.height = heights[j];
        last.place = start + j * step;
      }
    }
    last.right = start + k * step;
  }
  return peaks;
}

// Return the density, its first and second derivative, up to a factor; points too far away to matter are skipped.
function densityAndDerivatives({ places, masses }, place, bandwidth) {
  const before = lastIndexAtMost(places, place);
  const left = before < 0 ? Infinity : place - places[before];
  const right = before + 1 < places.length ? places[before + 1] - place : Infinity;
  const nearest = Math.min(left, right) / bandwidth;
  let height = 0;
  let slope = 0;
  let curve = 0;
  if (nearest > MAX_BANDWIDTHS) return [height, slope, curve];
  const reach = Math.sqrt(nearest * nearest + 2 * 36);
  for (let i = lastIndexAtMost(places, place - reach * bandwidth) + 1; i < places.length; i++) {
    const u = (place - places[i]) / bandwidth;
    if (u < -reach) break;
    const weight = masses[i] * Math.exp(-0.5 * u * u);
    height += weight;
    slope -= u * weight;
    curve += (u * u - 1) * weight;
  }
  return [height, slope, curve];
}

// Find the lowest density between two places: Newton's method with bisection as its safeguard.
function findValley(points, left, right, bandwidth) {
  let place = 0.5 * (left + right);
  for (let step = 0; step < 100; step++) {
    const [height, slope, curve] = densityAndDerivatives(points, place, bandwidth);
    const move = slope && curve ? (slope / curve) * bandwidth : 0;
    if (Math.abs(move) <= 1e-12 * bandwidth || right - left <= 1e-15) return { place, height };
    if (slope < 0) left = place;
    else right = place;
    place = place - move >= left && place - move <= right ? place - move : 0.5 * (left + right);
  }
  return { place, height: densityAndDerivatives(points, place, bandwidth)[0] };
}

// Find the valleys of the density of T in ascending order; valleys that are too shallow are merged.
function findValleys(points, bandwidth) {
  const clumps = splitIntoClumps(points.places, CLUMP_GAP * bandwidth);
  let highest = 0;
  for (const clump of clumps) {
    if (clump.high - clump.low <= 2 * bandwidth) clump.peak = narrowPeak(points, clump, bandwidth);
    else clump.knots = densityOnKnots(points, clump, bandwidth);
    const heights = clump.peak ? [clump.peak.height] : clump.knots.heights;
    for (const height of heights) if (height > highest) highest = height;
  }
  const peaks = clumps.flatMap((clump) => findPeaks(clump, NEGLIGIBLE * highest, bandwidth));
  const step = bandwidth / KNOTS_PER_BANDWIDTH;
  const valleys = [];
  for (let i = 0; i + 1 < peaks.length; i++) {
    // Peaks on the same knots have a common knot as the end of their brackets.
    const [left, right] = [peaks[i].right, peaks[i + 1].left];
    const seen = peaks[i].clump === peaks[i + 1].clump && right - left < 2 * step ? peaks[i].clump.knots.points : points;
    valleys.push(findValley(seen, Math.min(left, right) - step, Math.max(left, right) + step, bandwidth));
  }
  for (;;) {
    let shallowest = -1;
    let least = points.minDepth ?? MIN_DEPTH;
    valleys.forEach((valley, i) => {
      const depth = 1 - valley.height / Math.min(peaks[i].height, peaks[i + 1].height);
      if (depth < least) [shallowest, least] = [i, depth];
    });
    if (shallowest < 0) return valleys.map((valley) => valley.place);
    valleys.splice(shallowest, 1);
    peaks.splice(peaks[shallowest].height >= peaks[shallowest + 1].height ? shallowest + 1 : shallowest, 1);
  }
}

// Return the boundaries between clusters as values of x.
function findBoundaries(cells, curve) {
  if (!curve) return [];
  const points = levelPoints(cells, curve);
  const bandwidth = scottBandwidth(points, cells.weight);
  if (!(bandwidth > 1e-12)) return [];
  const found = findValleys(points, bandwidth).map((level) => cells.minimum + curve.offset(level));
  const [low, high] = [cells.minimum, cells.minimum + cells.range];
  return found.filter((x, i) => x > (i ? found[i - 1] : low) && x < high);
}
