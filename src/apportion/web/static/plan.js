// The charts of a plan, and the slider that shows the best split of any budget.

import { armColour, band, colour, draw, readable, safe } from "./chart.js";

const at = (id) => document.getElementById(id);
const holder = at("plan-curves");
const unit = holder.dataset.unit;
const back = holder.dataset.minimise ? "is paid" : "comes back";
let plan = null;
let chosen = 0;

/** '8,120 (7,400 to 8,900)', as the tables have it. */
function ranged(value, low, high) {
  if (value === null) return "–";
  if (low === null || high === null || !(high - low > 1e-9)) return readable(value);
  const digits = Math.min(Math.max(1 - Math.floor(Math.log10(high - low)), 0), 12);
  const [least, middle, most] = [low, value, high].map((each) =>
    each.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  return `${middle} (${least} to ${most})`;
}

/** An amount to the cent; whole ones without. */
function cents(amount) {
  const rounded = Math.round(100 * amount) / 100;
  const digits = Number.isInteger(rounded) ? 0 : 2;
  return rounded.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A number with its range, and its unit between the two. */
const withUnit = (text, name) => (name ? text.replace(/^\S+/, (first) => `${first} ${name}`) : text);

function line(name, x, y, rgb, more = {}) {
  return {
    name: safe(name), x, y, mode: "lines", line: { color: rgb, width: 2.2, ...more }, showlegend: false,
    hovertemplate: `%{y:,.4~g} of %{x:,.6~g} ${safe(unit)}<extra></extra>`,
  };
}

function drawCurve(arm, index) {
  const element = at(`curve-${index}`);
  if (!element) return;
  const rgb = armColour(arm.colour);
  const { amounts, returned, low, high } = arm.curve;
  const beyond = amounts.findIndex((amount) => amount > arm.tried);
  const edge = beyond < 0 ? amounts.length : Math.max(beyond, 1);
  const traces = low[0] === null ? [] : band(safe(arm.arm), amounts, low, high, rgb, arm.arm);
  traces.push(line(arm.arm, amounts.slice(0, edge), returned.slice(0, edge), rgb));
  if (edge < amounts.length) {
    traces.push(line(`${arm.arm}, a guess`, amounts.slice(edge - 1), returned.slice(edge - 1), rgb, { dash: "dash" }));
  }
  const ages = arm.points.map((_, place) => 0.15 + 0.75 * ((place + 1) / arm.points.length) ** 2); // the oldest first
  traces.push({
    name: "a period", x: arm.points.map((point) => point.amount), y: arm.points.map((point) => point.outcome),
    mode: "markers", marker: { color: rgb, size: 6, opacity: ages }, showlegend: false,
    text: arm.points.map((point) => safe(point.date.slice(0, 10))),
    hovertemplate: `%{text}: %{y:,.4~g} of %{x:,.6~g} ${safe(unit)}<extra></extra>`,
  });
  const amount = arm.share * plan.budgets[chosen].budget;
  draw(element, traces, {
    hovermode: "closest", xaxis: { title: `spent ${unit ? `(${unit})` : ""}`, rangemode: "tozero" }, yaxis: { title: back },
    shapes: amount <= amounts.at(-1) ? [upright(amount)] : [],
  });
}

const upright = (x) => ({
  type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colour("var(--accent)"), width: 1.5, dash: "dot" },
});

function drawBudgets(element, name, title, shapes = []) {
  const x = plan.budgets.map((row) => row.budget);
  const values = (edge) => plan.budgets.map((row) => row[`${name}${edge}`]);
  const rgb = colour("var(--accent)");
  const traces = values("_low")[0] === null ? [] : band(title, x, values("_low"), values("_high"), rgb, name);
  traces.push(line(title, x, values(""), rgb));
  draw(element, traces, {
    hovermode: "closest", xaxis: { title: `budget ${unit ? `(${unit})` : ""}`, rangemode: "tozero" },
    yaxis: { title, rangemode: "tozero" }, shapes: [upright(plan.budgets[chosen].budget), ...shapes],
  });
}

/** The split and the words of the chosen budget. All arms bend alike: the best shares are the same for each. */
function showChosen() {
  const row = plan.budgets[chosen];
  const said = withUnit(cents(row.budget), unit);
  at("plan-any-value").textContent = said;
  at("plan-any").setAttribute("aria-valuetext", said);
  at("plan-any-words").textContent =
    `About ${withUnit(ranged(row.returned, row.returned_low, row.returned_high), holder.dataset.back)} ${holder.dataset.verb}, ${readable(row.returned / row.budget)} per ${plan.one}; ` +
    `the next ${plan.one} ${holder.dataset.minimise ? "costs" : "brings back"} about ${ranged(row.marginal, row.marginal_low, row.marginal_high)}.`;
  const scale = (row.budget / plan.budget) ** plan.c;
  const slope = (row.budget / plan.budget) ** (plan.c - 1);
  const same = row.budget === plan.budget;
  document.querySelectorAll("[data-testid=plan-row]").forEach((cells, index) => {
    const arm = plan.arms[index];
    const put = (name, text) => { cells.querySelector(`[data-testid=plan-${name}]`).textContent = text; };
    put("amount", cents(same ? arm.amount : arm.share * row.budget));
    if (same) {
      put("returned", ranged(arm.returned, arm.returned_low, arm.returned_high));
      put("marginal", ranged(arm.marginal, arm.marginal_low, arm.marginal_high));
    } else { // the range of an arm is that of the planned budget
      put("returned", arm.returned === null ? "–" : `about ${readable(Number((arm.returned * scale).toPrecision(4)))}`);
      put("marginal", arm.marginal === null ? "–" : `about ${readable(Number((arm.marginal * slope).toPrecision(3)))}`);
    }
  });
}

function drawAll() {
  drawBudgets(at("plan-return"), "returned", back);
  const level = plan.target
    ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: plan.target.asked, y1: plan.target.asked, line: { color: colour("var(--edge)"), dash: "dash", width: 1.5 } }]
    : [];
  drawBudgets(at("plan-marginal"), "marginal", `next ${plan.one}`, level);
  plan.arms.forEach(drawCurve);
}

async function begin() {
  const response = await fetch(holder.dataset.source, { headers: { Accept: "application/json" } });
  if (!response.ok) return;
  plan = await response.json();
  const distance = (row) => Math.abs(row.budget - plan.budget);
  plan.budgets.forEach((row, index) => { if (distance(row) < distance(plan.budgets[chosen])) chosen = index; });
  if (distance(plan.budgets[chosen]) > 1e-9 * plan.budget) { // the planned budget is one of them
    plan.budgets.push({ ...plan.whole });
    plan.budgets.sort((one, two) => one.budget - two.budget);
    chosen = plan.budgets.findIndex((row) => row.budget === plan.budget);
  }
  const slider = at("plan-any");
  slider.max = plan.budgets.length - 1;
  slider.value = chosen;
  at("plan-slider").hidden = false;
  slider.addEventListener("input", () => {
    chosen = Number(slider.value);
    showChosen();
    drawAll();
  });
  showChosen();
  drawAll();
  document.documentElement.dataset.planned = "1"; // for those who wait for the charts
}

document.addEventListener("theme", () => plan && drawAll());
begin();
