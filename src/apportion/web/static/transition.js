// The phase transition: every b was simulated on the server, and the slider walks through what was found.

import { colour, safe } from "./chart.js";
import * as Curves from "./curves.js";

const at = (id) => document.getElementById(id);
const studies = new Map(); // by number of arms: { started, points, done }
let source = null;

const arms = () => at("transition-arms").value;
const chosen = () => Number(at("transition-b").value);
const study = () => studies.get(arms());

function begin() {
  if (source) source.close();
  source = null;
  at("transition-error").hidden = true;
  if (!studies.has(arms())) studies.set(arms(), { points: new Map(), done: null });
  if (study().done) {
    show();
    return;
  }
  const mine = study();
  source = new EventSource(`/laboratory/transition?arms=${encodeURIComponent(arms())}`);
  source.addEventListener("started", (event) => { mine.started = JSON.parse(event.data); show(); });
  source.addEventListener("point", (event) => {
    const point = JSON.parse(event.data);
    mine.points.set(point.b.toFixed(2), point);
    if (mine === study()) show();
  });
  source.addEventListener("done", (event) => {
    mine.done = JSON.parse(event.data);
    source.close();
    if (mine === study()) show();
  });
  source.addEventListener("error", () => {
    source.close();
    at("transition-error").textContent = "The connection to the service was lost. Choose the number of arms again to go on.";
    at("transition-error").hidden = false;
  });
  show();
}

function show() {
  const b = chosen(), mine = study();
  at("transition-b-value").textContent = b.toFixed(2);
  at("transition-b").setAttribute("aria-valuetext", `b = ${b.toFixed(2)}`);
  if (!mine) return;
  const total = mine.started ? mine.started.total : 21;
  at("transition-state").textContent = mine.done ? "" : `Simulating: ${mine.points.size} of ${total} values of b`;
  at("transition-summary").textContent = mine.done ? mine.done.words : "";
  const point = mine.points.get(b.toFixed(2));
  at("transition-words").hidden = false;
  for (const name of ["why", "measured", "example", "best"]) {
    at(`transition-${name}`).textContent = point ? point.words[name] : name === "why" ? `b = ${b.toFixed(2)} is being simulated.` : "";
  }
  const points = [...mine.points.values()].sort((one, two) => one.b - two.b);
  if (!points.length) return;
  Curves.legend(at("transition-legend"), points[0].policies.map((policy, index) => ({ label: policy.label, index })));
  drawAgainst(points, b);
  if (point) drawOver(point);
}

function drawAgainst(points, b) {
  const last = (values) => values[values.length - 1];
  const traces = points[0].policies.map((policy, index) => {
    const look = Curves.look(index);
    return {
      name: safe(policy.label), x: points.map((point) => point.b), y: points.map((point) => last(point.policies[index].regret)),
      error_y: { type: "data", array: points.map((point) => 2 * last(point.policies[index].error)), thickness: 1, width: 2, color: look.colour },
      mode: "lines+markers", line: { color: look.colour, dash: look.dash, width: 2.2 },
      marker: { color: look.colour, size: 5 },
      hovertemplate: `%{y:,.4~r} lost at b = %{x}<extra>${safe(policy.label)}</extra>`,
    };
  });
  const upright = (x, dash, colour, width) => ({
    type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colour, dash, width },
  });
  Curves.draw(at("transition-against"), traces, {
    xaxis: { title: "b", range: [-0.03, 1.03], dtick: 0.25 },
    yaxis: { title: "regret", type: "log", dtick: "D2" },
    shapes: [upright(0.5, "dot", colour("var(--edge)"), 1.5), upright(b, "solid", colour("var(--accent)"), 2)],
  });
}

function drawOver(point) {
  const traces = (values) => point.policies.map((policy, index) => {
    const look = Curves.look(index);
    return {
      name: safe(policy.label), x: point.periods, y: values(policy), mode: "lines", line: { color: look.colour, dash: look.dash, width: 2.2 },
      hovertemplate: `%{y:,.3~r} in period %{x:,}<extra>${safe(policy.label)}</extra>`,
    };
  });
  const end = Math.log10(point.periods[point.periods.length - 1]);
  Curves.draw(at("transition-regret"), traces((policy) => policy.regret), {
    xaxis: { title: "periods" }, yaxis: { title: "regret", rangemode: "tozero" },
  });
  Curves.draw(at("transition-shares"), traces((policy) => policy.best_share.map((share) => 100 * share)), {
    xaxis: { title: "periods", ...Curves.LOG, range: [0, end] }, yaxis: { range: [0, 103], ticksuffix: "%" },
  });
}

at("transition-b").addEventListener("input", show);
at("transition-arms").addEventListener("change", begin);
document.addEventListener("theme", () => study() && show());
addEventListener("pagehide", () => source && source.close());
show();
// It takes some seconds of work the first time: begin when somebody looks.
new IntersectionObserver((entries, watcher) => {
  if (entries.some((entry) => entry.isIntersecting)) {
    watcher.disconnect();
    begin();
  }
}, { rootMargin: "0px 0px -80px 0px" }).observe(at("transition"));
