"use strict";
// The kernel density integral of a column at one alpha, from the cells of its sketch.
//
// A cell at c with moments m_k contributes sum_k m_k (-w/b)^k / k! G^(k)((x - c)/b), the Taylor expansion about its centre
// (kdi/_numerics/direct_sum.py). The kernel's tail is exp(-u) sum_l a_l u^l / l!, and so are its derivatives: all cells to
// the left of a point sum to one such row of coefficients, all cells to its right to another. One pass over the cells in
// each direction yields these rows at every cell, and T at any x is then two short sums.

const LINEAR_RANGE = 1e-4; // range/bandwidth below which T is a straight line (kdi/_sketch/cells.py)
const TINY_RANGE = 1e-303; // a straight line for smaller ranges (kdi/explorer/_features.py)
const MAX_DISTANCE = 700; // bandwidths beyond which the exponential underflows

function decodeBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Return positions relative to the minimum. Values are embedded as they are, cells by the distance from each to the next.
function decodePlaces({ places, width, start }, minimum) {
  let cell = 0;
  return Float64Array.from(places, (place) => (width ? (cell += place) * width + start : place - minimum));
}

// Return knots, levels and masses of T at alpha = 0, for columns whose values are not embedded.
function decodeRanks(ranks, minimum, range) {
  const knots = decodePlaces(ranks, minimum);
  knots[0] = 0;
  knots[knots.length - 1] = range;
  let level = 0;
  const levels = Float64Array.from(ranks.levels, (rise) => (level += rise) * ranks.unit);
  return { knots, levels, masses: Float64Array.from(ranks.masses, (mass) => mass * ranks.unit) };
}

// The sketch of a column: positions relative to its minimum, and moments 0 to 3 of each cell in units of its width, as
// shares of the weight; or the share alone if the values themselves are embedded.
class Cells {
  constructor(feature) {
    this.length = feature.places.length;
    this.terms = feature.moments.length;
    this.width = feature.width;
    this.count = feature.count;
    this.weight = feature.weight;
    this.minimum = feature.minimum;
    this.range = this.length ? feature.maximum - feature.minimum : 0;
    this.std = feature.std;
    this.positions = decodePlaces(feature, this.minimum);
    this.ranks = feature.ranks && decodeRanks(feature.ranks, this.minimum, this.range);
    this.moments = new Float64Array(this.length * this.terms);
    for (let k = 0; k < this.terms; k++) {
      for (let i = 0; i < this.length; i++) this.moments[i * this.terms + k] = feature.moments[k][i] * feature.units[k];
    }
  }

  mass(cell) {
    return this.moments[cell * this.terms];
  }

  // Return the mean of a cell's values, as an offset from the minimum, and their standard deviation.
  centre(cell) {
    const m = this.moments;
    const at = cell * this.terms;
    const place = this.positions[cell];
    if (this.terms === 1 || !(m[at] > 0)) return [place, 0];
    const mean = Math.min(Math.max(m[at + 1] / m[at], -0.5), 0.5);
    const variance = Math.min(Math.max(m[at + 2] / m[at] - mean * mean, 0), 0.25);
    return [Math.min(Math.max(place + mean * this.width, 0), this.range), Math.sqrt(variance) * this.width];
  }
}

// Return the index of the last of ascending numbers that is <= x, or -1 if there is none.
function lastIndexAtMost(numbers, x) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (numbers[half] <= x) low = half + 1;
    else high = half;
  }
  return low - 1;
}

// Evaluate exp(-u) sum_l a_l u^l / l! for one row of coefficients.
function tailSum(rows, start, size, u) {
  if (u > MAX_DISTANCE) return 0;
  let total = 0;
  for (let l = size - 1; l >= 0; l--) total = rows[start + l] + (total * u) / (l + 1);
  return total * Math.exp(-u);
}

// Evaluate its derivative by u.
function tailSlope(rows, start, size, u) {
  if (u > MAX_DISTANCE) return 0;
  let total = 0;
  for (let l = size - 1; l >= 0; l--) {
    const next = l + 1 < size ? rows[start + l + 1] : 0;
    total = next - rows[start + l] + (total * u) / (l + 1);
  }
  return total * Math.exp(-u);
}

// The sum of kernel cdfs over the cells, at any offset from the minimum.
class KernelSum {
  constructor(cells, bandwidth, order) {
    this.cells = cells;
    this.bandwidth = bandwidth;
    this.size = order + 1;
    this.left = this.sumTails(-1);
    this.right = this.sumTails(1);
    this.below = new Float64Array(cells.length);
    let total = 0;
    for (let i = 0; i < cells.length; i++) this.below[i] = total += cells.mass(i);
  }

  // Return a row of coefficients per cell: the sum over all cells from the left (side -1) or right (side 1) up to it.
  sumTails(side) {
    const { cells, size, bandwidth } = this;
    const { positions, moments, terms, length } = cells;
    const rows = new Float64Array(length * size);
    const kernel = this.derivatives(side);
    const state = new Float64Array(size);
    const powers = new Float64Array(size);
    for (let step = 0; step < length; step++) {
      const i = side < 0 ? step : length - 1 - step;
      if (step) {
        const distance = Math.abs(positions[i] - positions[i + side]) / bandwidth;
        const decay = distance > MAX_DISTANCE ? 0 : Math.exp(-distance);
        powers[0] = decay;
        for (let l = 1; l < size; l++) powers[l] = decay ? (powers[l - 1] * distance) / l : 0;
        for (let l = 0; l < size; l++) {
          let moved = 0;
          for (let k = l; k < size; k++) moved += state[k] * powers[k - l];
          state[l] = moved;
        }
      }
      for (let l = 0; l < size; l++) {
        let added = 0;
        for (let k = 0; k < terms; k++) added += moments[i * terms + k] * kernel[k * size + l];
        state[l] += added;
        rows[i * size + l] = state[l];
      }
    }
    return rows;
  }

  // Coefficients of the tail's derivatives 0 to 3, times (±w/b)^k / k!.
  derivatives(side) {
    const { size, cells, bandwidth } = this;
    const rows = new Float64Array(4 * size);
    let tail = Array.from({ length: size }, (_, l) => (size - l) / (2 * size));
    let factor = 1;
    for (let k = 0; k < 4; k++) {
      for (let l = 0; l < size; l++) rows[k * size + l] = factor * tail[l];
      tail = tail.map((one, l) => (l + 1 < size ? tail[l + 1] : 0) - one);
      factor *= ((side * cells.width) / bandwidth) / (k + 1);
    }
    return rows;
  }

  at(offset) {
    const { positions, length } = this.cells;
    const i = lastIndexAtMost(positions, offset);
    let total = 0;
    if (i >= 0) total = this.below[i] - tailSum(this.left, i * this.size, this.size, (offset - positions[i]) / this.bandwidth);
    const j = i + 1;
    if (j < length) total += tailSum(this.right, j * this.size, this.size, (positions[j] - offset) / this.bandwidth);
    return total;
  }

  density(offset) {
    const { positions, length } = this.cells;
    const i = lastIndexAtMost(positions, offset);
    let total = 0;
    if (i >= 0) total -= tailSlope(this.left, i * this.size, this.size, (offset - positions[i]) / this.bandwidth);
    const j = i + 1;
    if (j < length) total -= tailSlope(this.right, j * this.size, this.size, (positions[j] - offset) / this.bandwidth);
    return total / this.bandwidth;
  }
}

// T between a column's minimum and maximum, as a function of the offset from the minimum; 0 <= offset <= range.
class SmoothCurve {
  constructor(cells, bandwidth, order) {
    this.sum = new KernelSum(cells, bandwidth, order);
    this.range = cells.range;
    this.first = this.sum.at(0);
    this.total = this.sum.at(cells.range) - this.first;
  }

  level(offset) {
    return Math.min(Math.max((this.sum.at(offset) - this.first) / this.total, 0), 1);
  }

  slope(offset) {
    return Math.max(this.sum.density(offset), 0) / this.total;
  }

  // Return the offset at which T is `level`: Newton's method within a shrinking bracket.
  offset(level) {
    if (level <= 0 || level >= 1) return level <= 0 ? 0 : this.range;
    const positions = this.sum.cells.positions;
    this.levels ??= positions.map((position) => this.level(Math.min(Math.max(position, 0), this.range)));
    const cell = lastIndexAtMost(this.levels, level);
    let low = cell < 0 ? 0 : Math.max(positions[cell], 0);
    let high = cell + 1 < positions.length ? Math.min(positions[cell + 1], this.range) : this.range;
    let place = 0.5 * (low + high);
    for (let step = 0; step < 200 && high - low > 1e-15 * this.range; step++) {
      const excess = this.level(place) - level;
      if (excess === 0) break;
      if (excess > 0) high = place;
      else low = place;
      const next = place - excess / this.slope(place);
      // Where T is nearly flat, Newton's steps are too long: every third step bisects.
      const newton = step % 3 < 2 && next > low && next < high;
      if (newton && Math.abs(next - place) < 1e-14 * this.range) break;
      place = newton ? next : 0.5 * (low + high);
    }
    return place;
  }
}

// Straight lines between knots: min-max, and the mid-ranks of the values at alpha = 0.
class LineCurve {
  constructor(knots, levels) {
    this.knots = knots;
    this.levels = levels;
  }

  static ranks(cells) {
    if (cells.ranks) return new LineCurve(cells.ranks.knots, cells.ranks.levels);
    const { length, positions } = cells;
    const knots = Float64Array.from(positions);
    const levels = new Float64Array(length);
    let below = 0;
    for (let i = 0; i < length; i++) {
      levels[i] = below + 0.5 * cells.mass(i);
      below += cells.mass(i);
    }
    const first = levels[0];
    const total = levels[length - 1] - first;
    if (!(total > 0)) return LineCurve.straight(cells.range);
    for (let i = 0; i < length; i++) levels[i] = (levels[i] - first) / total;
    knots[0] = 0;
    knots[length - 1] = cells.range;
    return new LineCurve(knots, levels);
  }

  static straight(range) {
    return new LineCurve(Float64Array.of(0, range), Float64Array.of(0, 1));
  }

  static interpolate(from, to, x) {
    const i = Math.min(Math.max(lastIndexAtMost(from, x), 0), from.length - 2);
    const length = from[i + 1] - from[i];
    const share = length > 0 ? Math.min(Math.max((x - from[i]) / length, 0), 1) : 0;
    return to[i] + share * (to[i + 1] - to[i]);
  }

  level(offset) {
    return LineCurve.interpolate(this.knots, this.levels, offset);
  }

  slope(offset) {
    const i = Math.min(Math.max(lastIndexAtMost(this.knots, offset), 0), this.knots.length - 2);
    const length = this.knots[i + 1] - this.knots[i];
    return length > 0 ? (this.levels[i + 1] - this.levels[i]) / length : 0;
  }

  offset(level) {
    return LineCurve.interpolate(this.levels, this.knots, level);
  }
}

// Return T of a column at one alpha; null if all values are equal or missing.
function makeCurve(cells, alpha, kernel) {
  if (!(cells.length && cells.range > 0)) return null;
  if (!(cells.range > TINY_RANGE)) return LineCurve.straight(cells.range);
  if (alpha === 0) return LineCurve.ranks(cells);
  const bandwidth = alpha * cells.std * kernel.scale;
  if (!(cells.range / bandwidth >= LINEAR_RANGE)) return LineCurve.straight(cells.range);
  return new SmoothCurve(cells, bandwidth, kernel.order);
}

// Return T(x) as KDITransformer does: clipped outside of the range, a step for a constant, NaN without values.
function levelAt(cells, curve, x) {
  if (!cells.length || Number.isNaN(x)) return NaN;
  const offset = x - cells.minimum;
  if (!curve) return offset > 0 ? 1 : 0;
  return curve.level(Math.min(Math.max(offset, 0), cells.range));
}
