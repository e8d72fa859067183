// The chart of a campaign's page: estimates, chance of being the best, or shares over time.

import { armLine, band, chance, clear, colour, draw, readable, safe, shareAreas, wrapped } from "./chart.js";

const chart = document.getElementById("chart");
const caption = document.getElementById("chart-caption");
const list = document.getElementById("chart-marks");
const choice = document.getElementById("chart-switch");
let data = null;

const CAPTIONS = {
  means: () => `${data.heading}, as estimated after each split, with its likely range (${readable(data.level)}%).`,
  best: () => "How likely each arm is to be the best, after each split.",
  shares: () => "What part of the budget each split gave to each arm.",
};
const EMPTY = {
  means: "Not enough data: record the first outcomes, and the estimates are drawn here.",
  best: "Not enough data: record outcomes, and the chances are drawn here.",
  shares: "No split yet: ask for the first one above.",
};

function view() {
  return choice.querySelector("input:checked").value;
}

/** Where a period stands on the axis: at its date, or at its number where dates make no axis. */
function when(period) {
  return data.dates ? data.dates[period] : period;
}

/** The axis of splits, by date where there are dates; few that are counted are counted one by one, never in halves. */
function splits() {
  if (data.dates) return { title: "", type: "date", hoverformat: "%-d %b %Y" };
  return { title: "split", ...(data.last <= 12 ? { dtick: 1, tick0: 1 } : {}) };
}

function means() {
  const traces = [];
  const x = data.periods.map(when);
  const all = [];
  data.arms.forEach((name, n) => {
    const { mean, low, high } = data.beliefs[name];
    if (!mean.some((value) => value !== null)) return;
    const line = armLine(data.indices[n]);
    const rgb = line.color;
    // A band is drawn where both ends are known; plotly would join over gaps in the fill.
    const known = data.periods.map((_, n) => n).filter((n) => low[n] !== null && high[n] !== null);
    const at = (values) => known.map((n) => values[n]);
    traces.push(...band(safe(name), at(x), at(low), at(high), rgb, name));
    traces.push({
      name: wrapped(name), meta: { name }, x, y: mean, mode: data.periods.length < 2 ? "markers" : "lines", legendgroup: name,
      line, marker: { color: rgb, size: 8 }, connectgaps: false,
      customdata: data.periods.map((_, n) => [readable(mean[n]), low[n] === null ? "" : ` (${readable(low[n])} to ${readable(high[n])})`]),
      hovertemplate: `${safe(name)}: %{customdata[0]}%{customdata[1]}<extra></extra>`,
    });
    all.push(...mean.filter((value) => value !== null), low.at(-1) ?? NaN, high.at(-1) ?? NaN);
  });
  // Early intervals are wide: the axis shows all means and today's intervals, not the whole of the first band.
  const finite = all.filter(Number.isFinite);
  const [least, most] = [Math.min(...finite), Math.max(...finite)];
  const room = 0.08 * (most - least || Math.abs(most) || 1);
  return [traces, { xaxis: splits(), yaxis: { title: `per ${data.one}`, range: [least - room, most + room] } }];
}

function best() {
  const traces = data.arms.flatMap((name, n) => {
    const values = data.beliefs[name].best;
    if (!values.some((value) => value !== null)) return [];
    const line = armLine(data.indices[n]);
    return [{
      name: wrapped(name), meta: { name }, x: data.periods.map(when), y: values.map((value) => (value === null ? null : 100 * value)),
      mode: data.periods.length < 2 ? "markers" : "lines", line, marker: { color: line.color, size: 8 },
      customdata: values.map((value) => (value === null ? "–" : chance(value))),
      hovertemplate: `${safe(name)}: %{customdata}<extra></extra>`,
    }];
  });
  return [traces, { xaxis: splits(), yaxis: { title: "%", range: [-2, 102] } }];
}

function shares() {
  if (!data.tickets.length) return [[], {}];
  const others = data.others ? [data.others] : []; // those that are not drawn, together
  const areas = shareAreas(
    [...data.arms, ...others], data.tickets.map(when), data.shares, when(data.last + 1), [...data.indices, ...others.map(() => null)],
  );
  return [areas, { xaxis: splits(), yaxis: { title: "% of the budget", range: [0, 100] } }];
}

const VIEWS = { means, best, shares };
const DASHES = { budget: "dash", setting: "dash", amended: "dot", arm: "dashdot", imported: "solid" };
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

function markShapes() {
  const soft = colour("var(--faint)");
  const shown = data.marks.slice(-LETTERS.length);
  const byPlace = new Map(); // several things at one split share a line
  shown.forEach((mark, n) => {
    const known = byPlace.get(when(mark.period)) || { ...mark, letters: "" };
    known.letters += LETTERS[n];
    byPlace.set(when(mark.period), known);
  });
  const marks = [...byPlace.values()];
  return {
    shapes: marks.map((mark) => ({
      type: "line", x0: when(mark.period), x1: when(mark.period), yref: "paper", y0: 0, y1: 1, layer: "above",
      line: { color: soft, width: 1, dash: DASHES[mark.kind] || "dot" },
    })),
    annotations: marks.map((mark) => ({
      x: when(mark.period), y: 1, yref: "paper", yanchor: "bottom", text: mark.letters, showarrow: false, font: { size: 11, color: soft },
    })),
    margin: { l: 48, r: 12, t: marks.length ? 24 : 12, b: 40 },
  };
}

function listMarks() {
  const shown = data.marks.slice(-LETTERS.length);
  const items = shown.map((mark, n) => {
    const item = document.createElement("span");
    const letter = document.createElement("strong");
    letter.textContent = LETTERS[n];
    item.append(letter, ` ${mark.text} (${data.dates ? data.dates[mark.period].slice(0, 10) : `split ${mark.period}`})`);
    return item;
  });
  const more = data.marks.length - shown.length;
  list.replaceChildren(...items.flatMap((item, n) => (n ? [" · ", item] : [item])));
  if (more > 0) list.append(` · and ${more} earlier`);
}

function show() {
  if (!data) return;
  const kind = view();
  const [traces, shape] = VIEWS[kind]();
  caption.textContent = CAPTIONS[kind]() + (data.others ? ` Shown are ${data.arms.length} arms; ${data.others} are not.` : "");
  chart.dataset.view = kind;
  listMarks();
  if (!traces.length) {
    clear(chart);
    const note = document.createElement("p");
    note.className = "chart-waiting";
    note.textContent = EMPTY[kind];
    chart.replaceChildren(note);
    return;
  }
  draw(chart, traces, { ...markShapes(), ...shape });
}

async function load() {
  try {
    const answer = await fetch(chart.dataset.source, { headers: { "X-Live": "1" } });
    if (!answer.ok) throw new Error(answer.statusText);
    data = await answer.json();
    show();
  } catch {
    caption.textContent = "The chart could not be loaded. Load the page again to try once more.";
  }
}

if (chart && window.Plotly) {
  choice.addEventListener("change", show);
  document.addEventListener("theme", show);
  document.addEventListener("live:updated", load);
  load();
}

const printing = document.getElementById("print");
printing.hidden = false;
printing.addEventListener("click", () => window.print());
